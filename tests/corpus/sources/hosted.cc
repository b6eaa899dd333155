// The standard library inlines deeply; exceptions make landing pads and cold parts.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace app {

struct Item {
	std::string name;
	int weight;
	bool operator<(const Item &other) const { return weight < other.weight; }
};

__attribute__((noinline)) std::vector<Item> make_items(int n)
{
	std::vector<Item> items;
	for (int i = 0; i < n; i++)
		items.push_back({ "item " + std::to_string(i * 7919 % 101), i * 31 % 17 });
	return items;
}

__attribute__((noinline)) int order(std::vector<Item> &items)
{
	std::sort(items.begin(), items.end());
	std::stable_sort(items.begin(), items.end(),
			 [](const Item &a, const Item &b) { return a.name < b.name; });
	return std::accumulate(items.begin(), items.end(), 0,
			       [](int sum, const Item &item) { return sum + item.weight; });
}

__attribute__((noinline)) int count(const std::vector<Item> &items)
{
	std::map<std::string, std::shared_ptr<Item>> index;
	for (auto &item : items)
		index[item.name] = std::make_shared<Item>(item);
	std::function<int(int)> visit = [&](int depth) {
		return depth == 0 ? (int)index.size() : visit(depth - 1) + 1;
	};
	return visit(5);
}

__attribute__((noinline)) int risky(int n)
{
	if (n > 1000)
		throw std::out_of_range("n is " + std::to_string(n));
	std::ostringstream text;
	text << n << ' ' << n * 2.5;
	return (int)text.str().size();
}

int guarded(int n)
{
	try {
		return risky(n);
	} catch (const std::out_of_range &error) {
		return (int)std::string(error.what()).size();
	}
}

} // namespace app

int main(int argc, char **argv)
{
	auto items = app::make_items(argc * 10);
	int result = app::order(items) + app::count(items) + app::guarded(argc) + app::guarded(5000);
	return result == (int)(long)argv;
}
