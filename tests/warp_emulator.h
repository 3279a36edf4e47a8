// A graphics card on one thread of the processor: every lane of a warp has a stack of its own, and lanes take turns at each shuffle.
// A lane that has returned while another still exchanges numbers is an error, as it is on a card.
#include <setjmp.h>
#include <ucontext.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace std;
#define __global__
#define __device__
#define __shared__ static
#define __restrict__
#define __launch_bounds__(threads)

struct float4 {
    float x, y, z, w;
};
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

struct Place {
    unsigned x;
};
static Place threadIdx, blockIdx;

namespace warp {
constexpr int LANES = 32, STACK = 1 << 17;
static ucontext_t lanes[LANES];
static jmp_buf home, places[LANES];  // a jump is far cheaper than an exchange of contexts, which calls the system
static bool begun[LANES];
static char stacks[LANES][STACK];
static bool over[LANES];
static unsigned char exchanged[2][LANES][8];
static int phase[LANES];
static unsigned first_thread;
static void (*work)(void*);
static void* given;

static void lane() {
    work(given);
    over[threadIdx.x - first_thread] = true;
    _longjmp(home, 1);
}

template <class T>
T from(T value, int source) {
    const int me = threadIdx.x - first_thread, now = phase[me] ^= 1;
    for (int each = 0; each < LANES; ++each)
        if (over[each]) {
            fprintf(stderr, "a lane has returned while others exchange numbers\n");
            abort();
        }
    memcpy(exchanged[now][me], &value, sizeof(T));
    if (!_setjmp(places[me])) _longjmp(home, 1);
    memcpy(&value, exchanged[now][source & 31], sizeof(T));
    return value;
}

static void run(void (*kernel)(void*), void* arguments, long long blocks, int threads) {
    work = kernel;
    given = arguments;
    for (long long block = 0; block < blocks; ++block)
        for (int start = 0; start < threads; start += LANES) {
            first_thread = start;
            blockIdx.x = (unsigned)block;
            for (int each = 0; each < LANES; ++each) {
                getcontext(&lanes[each]);
                lanes[each].uc_stack.ss_sp = stacks[each];
                lanes[each].uc_stack.ss_size = STACK;
                lanes[each].uc_link = nullptr;
                makecontext(&lanes[each], lane, 0);
                over[each] = begun[each] = false;
                phase[each] = 0;
            }
            for (volatile bool busy = true; busy;) {
                busy = false;
                for (int each = 0; each < LANES; ++each) {
                    if (over[each]) continue;
                    threadIdx.x = start + each;
                    if (!_setjmp(home)) {
                        if (begun[each]) _longjmp(places[each], 1);
                        begun[each] = true;
                        setcontext(&lanes[each]);
                    }
                    busy = busy || !over[each];
                }
            }
        }
}
}  // namespace warp

template <class T>
T __shfl_xor_sync(unsigned, T value, int step) {
    return warp::from(value, ((int)threadIdx.x & 31) ^ step);
}
template <class T>
T __shfl_sync(unsigned, T value, int source) {
    return warp::from(value, source);
}
static void __syncwarp() { warp::from(0, 0); }
