// A unit with much debug data for its size: templates of the standard library, instantiated for many types.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace
{
template <int N> struct item {
	int key;
	std::string name;
	std::shared_ptr<item> next;
	bool operator<(const item &other) const
	{
		return key < other.key || (key == other.key && name < other.name);
	}
};

template <int N> std::size_t work(const std::vector<std::string> &words)
{
	std::map<std::string, std::vector<item<N>>> by_name;
	std::unordered_map<int, std::set<item<N>>> by_key;
	std::vector<item<N>> all;

	for (const auto &word : words) {
		item<N> one{int(word.size()) + N, word, nullptr};
		all.push_back(one);
		by_name[word].push_back(one);
		by_key[one.key].insert(one);
	}
	std::sort(all.begin(), all.end());
	std::function<int(int, const item<N> &)> add = [&](int sum, const item<N> &one) { return sum + one.key; };
	return by_name.size() + by_key.size() + std::size_t(std::accumulate(all.begin(), all.end(), 0, add));
}

template <int... N> std::size_t all(const std::vector<std::string> &words, std::integer_sequence<int, N...>)
{
	return (work<N>(words) + ...);
}
}

std::size_t everything(const std::vector<std::string> &words)
{
	return all(words, std::make_integer_sequence<int, 20>());
}
