/* Methods: their names have spaces, colons and brackets, and no underscore before them. */
#include "../common.h"

__attribute__((objc_root_class)) @interface Shape
{
	int width;
}
+ (int)count;
- (int)areaWithHeight:(int)height depth:(int)depth;
- (void)run:(int (^)(int))block;
@end

@interface Shape (Extras)
- (int)twice:(int)n;
@end

static ALWAYS int grow(int n)
{
	return n > 3 ? n + sink : n;
}

@implementation Shape
+ (int)count
{
	return grow(sink);
}

- (int)areaWithHeight:(int)height depth:(int)depth
{
	return grow(width) * height * depth;
}

- (void)run:(int (^)(int))block
{
	sink = block(width);
}
@end

@implementation Shape (Extras)
- (int)twice:(int)n
{
	int factor = grow(n);
	[self run:^(int m) {
		return grow(m) * factor;
	}];
	return 2 * n;
}
@end
