#!/usr/bin/env python3
"""What the simulation of a fleet shows, at a size that takes seconds: the decisions of leases and of the circuit breaker.

    test_simulation.py PROGRAM
"""

import sys
import unittest

import simulation

SMALL = ["hosts=60", "images=3000", "fresh=300", "hours=2.9", "rate=2", "rtt_ms=15"]


def sums(*more):
    return simulation.simulate(PROGRAM, SMALL + list(more))


class SimulationTest(unittest.TestCase):
    def test_same_parameters_same_output(self):
        self.assertEqual(sums(), sums())
        self.assertNotEqual(sums()[1], sums("seed=2")[1])

    def test_each_image_once(self):
        """But for hosts that ask in the moment between a miss and the lease, and for those that crash."""
        alone, bare, leased = (sums(*more)[1] for more in (["store=0"], ["leases=0"], ["crash=0"]))
        self.assertGreater(alone["conversions"], 10 * leased["conversions"])
        self.assertLess(leased["duplicates"], bare["duplicates"])
        self.assertLess(leased["duplicates"], leased["conversions"] / 100)

    def test_crashed_hosts(self):
        """Their leases are taken over."""
        crashed = sums("crash=0.2")[1]
        self.assertGreater(crashed["taken_over"], 10)
        self.assertLess(crashed["duplicates"], crashed["conversions"] / 20)

    def test_silent_store(self):
        """It is not asked until it speaks again, and then soon."""
        rows, _ = sums("down_minute=80", "down_length=20")
        at = {row["minute"]: row for row in rows}
        self.assertLess(at[90]["get"], at[79]["get"] / 4)
        self.assertGreater(at[112]["get"], at[79]["get"] / 2)
        self.assertLess(at[112]["conversions"], at[90]["conversions"] / 4)

    def test_slow_store(self):
        """Of which every answer comes after the hedge: it costs what conversions without it cost, and 250 ms at most."""
        alone, slow = sums("store=0")[1], sums("rtt_ms=1500", "rtt_sigma=0.1")[1]
        self.assertLessEqual(slow["wait_p50_ms"], 2 * alone["wait_p50_ms"] + 2 * 250)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
