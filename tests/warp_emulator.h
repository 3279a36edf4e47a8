// A graphics card on one thread of the processor: every lane of a block has a stack of its own, and lanes take turns at each shuffle.
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
// Arrays of a block lie together, so that each block can begin with numbers that are none: whoever reads what nobody wrote is seen.
#define __shared__ static __attribute__((section("of_a_block")))
extern char __start_of_a_block[] __attribute__((weak)), __stop_of_a_block[] __attribute__((weak));
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
constexpr int LANES = 32, MOST = 256, STACK = 1 << 17;
static ucontext_t lanes[MOST];
static jmp_buf home, places[MOST];  // a jump is far cheaper than an exchange of contexts, which calls the system
static bool begun[MOST], over[MOST];
static char stacks[MOST][STACK];
static unsigned char exchanged[2][MOST][8];
static int phase[MOST], met[MOST], threads;
static void (*work)(void*);
static void* given;

static void lane() {
    work(given);
    over[threadIdx.x] = true;
    _longjmp(home, 1);
}

// All other lanes take a turn.
static void give_way(int me) {
    if (!_setjmp(places[me])) _longjmp(home, 1);
}

static void refuse_returned(int first, int last) {
    for (int each = first; each < last; ++each)
        if (over[each]) {
            fprintf(stderr, "a lane has returned while others wait for it\n");
            abort();
        }
}

template <class T>
T from(T value, int source) {
    const int me = threadIdx.x, first = me / LANES * LANES, now = phase[me] ^= 1;
    refuse_returned(first, first + LANES);
    memcpy(exchanged[now][me], &value, sizeof(T));
    give_way(me);
    memcpy(&value, exchanged[now][first + (source & 31)], sizeof(T));
    return value;
}

// Wait until every lane of the block has met as often as this one.
static void meet() {
    refuse_returned(0, threads);
    ++met[threadIdx.x];
    give_way(threadIdx.x);
}

// How often all lanes of the block have met.
static int met_by_all() {
    int least = met[0];
    for (int each = 1; each < threads; ++each) least = met[each] < least ? met[each] : least;
    return least;
}

static void step(int each) {
    threadIdx.x = each;
    if (!_setjmp(home)) {
        if (begun[each]) _longjmp(places[each], 1);
        begun[each] = true;
        setcontext(&lanes[each]);
    }
}

static void run(void (*kernel)(void*), void* arguments, long long blocks, int count) {
    work = kernel;
    given = arguments;
    threads = count;
    for (long long block = 0; block < blocks; ++block) {
        blockIdx.x = (unsigned)block;
        if (__start_of_a_block) memset(__start_of_a_block, 0xff, __stop_of_a_block - __start_of_a_block);
        for (int each = 0; each < threads; ++each) {
            getcontext(&lanes[each]);
            lanes[each].uc_stack.ss_sp = stacks[each];
            lanes[each].uc_stack.ss_size = STACK;
            lanes[each].uc_link = nullptr;
            makecontext(&lanes[each], lane, 0);
            over[each] = begun[each] = false;
            phase[each] = met[each] = 0;
        }
        // A warp goes as far as it can before the next one begins: whoever does not wait for the others is seen.
        for (volatile bool busy = true; busy;) {
            busy = false;
            const int all = met_by_all();
            for (volatile int first = 0; first < threads; first += LANES)
                for (volatile bool moved = true; moved;) {
                    moved = false;
                    for (volatile int each = first; each < first + LANES; ++each) {
                        if (over[each] || met[each] > all) continue;
                        step(each);
                        moved = busy = true;
                    }
                }
        }
    }
}
}  // namespace warp

// The C library has a function of its own with the first name.
#define __expf expf
static float __fdividef(float x, float y) { return x / y; }

template <class T>
T __shfl_xor_sync(unsigned, T value, int step) {
    return warp::from(value, ((int)threadIdx.x & 31) ^ step);
}
template <class T>
T __shfl_sync(unsigned, T value, int source) {
    return warp::from(value, source);
}
static void __syncwarp() { warp::from(0, 0); }
static void __syncthreads() { warp::meet(); }
