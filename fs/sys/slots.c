#include "fs/sys/slots.h"

#include "gsym/base/invariant.h"

enum {
	PAGE = 64,
	NUMBERS = 1 << 30, /* what fits into an inode number */
};

struct slots_page {
	unsigned used;
	void *objects[PAGE];
};

/* Unless something is in it. */
static void release_page(struct slots *slots, uint32_t number)
{
	struct slots_page *page = slots->pages.v[number];
	if (!page || page->used)
		return;
	free(page);
	slots->pages.v[number] = NULL;
}

/* Makes sure that the next number has a page. */
static struct slots_page *prepare_page(struct slots *slots)
{
	if (slots->next / PAGE < slots->pages.n)
		return slots->pages.v[slots->next / PAGE];
	struct slots_page *page = calloc(1, sizeof(*page));
	if (!page || vec_push(&slots->pages, page)) {
		free(page);
		return NULL;
	}
	if (slots->next)
		release_page(slots, slots->next / PAGE - 1);
	return page;
}

int slots_add(struct slots *slots, void *object, uint32_t *ret)
{
	struct slots_page *page = slots->next < NUMBERS ? prepare_page(slots) : NULL;
	if (!page)
		return -ENOMEM;
	page->objects[slots->next % PAGE] = object;
	page->used++;
	slots->n++;
	*ret = slots->next++;
	return 0;
}

void *slots_get(const struct slots *slots, uint32_t number)
{
	const struct slots_page *page = number < slots->next ? slots->pages.v[number / PAGE] : NULL;
	return page ? page->objects[number % PAGE] : NULL;
}

void *slots_from(const struct slots *slots, uint32_t *number)
{
	for (uint32_t i = *number; i < slots->next; i++) {
		const struct slots_page *page = slots->pages.v[i / PAGE];
		if (!page) {
			i |= PAGE - 1;
		} else if (page->objects[i % PAGE]) {
			*number = i;
			return page->objects[i % PAGE];
		}
	}
	return NULL;
}

/* The last page stays for the next number, unless that is in another. */
void slots_remove(struct slots *slots, uint32_t number)
{
	struct slots_page *page = slots->pages.v[number / PAGE];
	invariant(number < slots->next && page && page->objects[number % PAGE]);
	page->objects[number % PAGE] = NULL;
	page->used--;
	slots->n--;
	if (number / PAGE != slots->next / PAGE)
		release_page(slots, number / PAGE);
}

void slots_deinit(struct slots *slots)
{
	for (size_t i = 0; i < slots->pages.n; i++)
		free(slots->pages.v[i]);
	vec_free(&slots->pages);
	*slots = (struct slots){0};
}
