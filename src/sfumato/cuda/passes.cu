// Passes over the rows on a graphics card. One source, two compilers: CUDA's for the card, and C++ for the tests, which run
// every lane of a warp on the processor.
//
// Rows lie as float32 in rows of 4 * D4 entries, the last of them zero where the dimension is no multiple of four. What is computed
// within one record (a score, a slope, a weight) is rounded as it may be: the record's own bound holds whatever it is. What is added
// over records is float64 from the first addition to the last, in an order that follows from the numbers of rows, columns and chains.
//
// Set by whoever compiles: D4, and for gradients LOSS (the loss's code), U (rows in flight at a time) and C (chains); for `gradient` also
// K (quads of entries a lane) and G (lanes a row, at least U); for `wide_gradient` W (warps a row). All but D4, LOSS and K are powers of
// two. No function here may use atomics, or an order that depends on which warp is first.

typedef long long whole;

// Rows of a run, which one warp adds up or, where rows are wide, a few together.
#define RUN 2048
#define WARPS 8
#define ALL 0xffffffffu

#ifndef LOSS
#define LOSS 0
#endif

// A value between bounds; one that is no number becomes the bound or number nearest to 0.
__device__ inline double within(double value, double lower, double upper) {
    if (isnan(value)) return lower > 0.0 ? lower : (upper < 0.0 ? upper : 0.0);
    return value < lower ? lower : (value > upper ? upper : value);
}

// The ratio phi(v)/Phi(v) of the normal law; far on the left by its asymptotic series.
__device__ inline double probit_ratio(double v) {
    if (v < -37.0) {
        const double w = 1.0 / (v * v);
        return -v * (1.0 + w * (1.0 - w * (2.0 - w * (10.0 - w * (74.0 - w * 706.0)))));
    }
    return exp(-0.5 * v * v) / (2.5066282746310002 * 0.5 * erfc(-v / 1.4142135623730951));
}

// phi'(u, y) of the loss with this code; the formulas are those of `kernels.slope`.
__device__ inline double slope(int code, double u, double y, double first, double second) {
    if (isnan(u)) return 0.0;
    if (code == 0) return y * u < 700.0 ? -y / (1.0 + exp(y * u)) : 0.0;
    if (code == 1) return within(u - y, -first, first);
    if (code == 2) return -y * (within(1.0 - y * u, 0.0, first) / first);
    if (code == 3) return y * u < 1.0 ? -y : 0.0;
    if (code == 4) return u < y ? -first : 1.0 - first;
    if (code == 5) return within((u - y) / second, -first, 1.0 - first);
    if (code == 6) return within(exp(u < 700.0 ? u : 700.0) - y, -first, first);
    if (code == 7) {
        const double rate = exp(u < 700.0 ? u : 700.0);
        if (y > 0.5) {
            const double steep = rate > 0.0 && rate < 700.0 ? rate / expm1(rate) : (rate >= 700.0 ? 0.0 : 1.0);
            return -(steep < first ? steep : first);
        }
        return rate < first ? rate : first;
    }
    const double ratio = probit_ratio(y * u);
    return -y * (ratio < first ? ratio : first);
}

// phi''(u, y) of a smooth loss, 0 where its slope is clipped.
__device__ inline double curvature(int code, double u, double y, double first, double second) {
    if (isnan(u)) return 0.0;
    if (code == 0) {
        const double small = exp(-fabs(y * u));
        return small / ((1.0 + small) * (1.0 + small));
    }
    if (code == 1) return fabs(u - y) < first ? 1.0 : 0.0;
    if (code == 2) {
        const double gap = 1.0 - y * u;
        return gap > 0.0 && gap < first ? 1.0 / first : 0.0;
    }
    if (code == 5) {
        const double off = u - y;
        return off > -first * second && off < (1.0 - first) * second ? 1.0 / second : 0.0;
    }
    if (code == 6) {
        const double rate = exp(u < 700.0 ? u : 700.0);
        return fabs(rate - y) <= first ? rate : 0.0;
    }
    if (code == 7) {
        const double rate = exp(u < 6.5 ? u : 6.5);
        if (y > 0.5) {
            if (!(rate > 0.0)) return 0.0;
            const double steep = rate / expm1(rate);
            return steep < first ? steep * (rate / -expm1(-rate) - 1.0) : 0.0;
        }
        return rate <= first ? rate : 0.0;
    }
    const double v = y * u, ratio = probit_ratio(v);
    if (!(ratio < first)) return 0.0;
    if (v < -37.0) {
        const double w = 1.0 / (v * v);
        return ratio * (-v) * (w * (1.0 - w * (2.0 - w * (10.0 - w * (74.0 - w * 706.0)))));
    }
    return ratio * (ratio + v);
}

// The largest float32 that is at most this number, which is not negative.
__device__ inline float shortened(double value) {
    const float near = (float)value;
    return (double)near > value ? nextafterf(near, 0.0f) : near;
}

// The same sum in every lane of a group of `lanes`; its order does not depend on the lane.
__device__ inline double sum_of_lanes(double value, int lanes) {
    for (int step = lanes / 2; step > 0; step /= 2) value += __shfl_xor_sync(ALL, value, step);
    return value;
}

#ifdef C
#define FOR(name, count) _Pragma("unroll") for (int name = 0; name < (count); ++name)

// The slope at a score. Of several chains the slopes of the logistic loss are computed in float32, by the card's quick exponential and
// quotient, whose slopes are off by less than 2^-22: in float64 those of a narrow row would take longer than its sums. The
// bound of 1 is kept by cutting off.
#define QUICK (LOSS == 0 && C > 1)
__device__ inline double slope_at(double u, double y, double first, double second) {
    if (!QUICK) return slope(LOSS, u, y, first, second);
    const float steep = fminf(__fdividef(1.0f, 1.0f + __expf((float)(y * u))), 1.0f);
    return isnan(u) ? 0.0 : -y * (double)steep;
}

// Sums over `LANES` lanes of `PAIRS` numbers of each, by exchanging halves: a lane gives away the numbers that it will not own, so that
// after log2(LANES) steps lane k has the whole of number k * PAIRS / LANES.
template <int LANES, int PAIRS>
__device__ inline float owned(float part[PAIRS], int member) {
    int left = PAIRS;
    _Pragma("unroll") for (int step = LANES / 2; step > 0; step /= 2) {
        const bool upper = (member & step) != 0;
        if (left > 1) {
            left /= 2;
            FOR(p, PAIRS / 2) if (p < left) {
                const float kept = upper ? part[p + left] : part[p], given = upper ? part[p] : part[p + left];
                part[p] = kept + __shfl_xor_sync(ALL, given, step);
            }
        } else {
            part[0] += __shfl_xor_sync(ALL, part[0], step);
        }
    }
    return part[0];
}
#endif

#ifdef K
#define GROUPS (32 / G)
// Scores that a group adds up together: as many as it has lanes, of all chains and rows in flight.
#define PAIRS (C * U < G ? C * U : G)
#define TOGETHER (PAIRS / U)
#define TURNS (C / TOGETHER)

// Rows base + u * GROUPS + group, u < U, of a group: this lane's quads of them; zeros beyond the end of the run.
__device__ inline void load(
    const float4* __restrict__ rows, whole base, whole stop, int group, int member, float4 x[U][K]) {
    FOR(u, U) {
        const whole i = base + u * GROUPS + group;
        FOR(k, K) {
            const bool there = i < stop && member + k * G < D4;
            x[u][k] = there ? rows[i * D4 + member + k * G] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
    }
}

// out[run][chain] = sum over the rows of a run of v phi'(u, y) (x, 1): one read of the rows for C chains.
//
// A warp has 32 / G groups; each has U rows in flight, and asks for the next U before it computes. After the products every lane holds
// its share of the scores of all pairs of a chain and a row. They are added so that each lane owns one pair (`owned`), and slopes are
// computed by all lanes at once.
extern "C" __global__ void __launch_bounds__(32 * WARPS) gradient(
    const float4* __restrict__ rows, const float* __restrict__ labels, const float* __restrict__ weights, whole n,
    const float4* __restrict__ theta, const double* __restrict__ bias, double first, double second, double* __restrict__ out) {
    __shared__ double steep[WARPS][GROUPS][U * C];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane / G, member = lane % G;
    const whole run = (whole)blockIdx.x * WARPS + warp;
    const whole start = run * RUN, stop = start + RUN < n ? start + RUN : n;
    if (start >= n) return;
    float4 t[C][K];
    FOR(c, C) FOR(k, K) {
        t[c][k] = member + k * G < D4 ? theta[c * D4 + member + k * G] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    double sum[C][K][4], total[TURNS];
    FOR(c, C) FOR(k, K) FOR(e, 4) sum[c][k][e] = 0.0;
    FOR(turn, TURNS) total[turn] = 0.0;
    // The pair that this lane owns after the exchanges, and which lane of those that own it writes it down.
    const int pair = member * PAIRS / G, own_row = pair % U, own_chain = pair / U;
    const bool writes = member % (G / PAIRS) == 0;
    float4 x[U][K], next[U][K];
    whole mine = start + own_row * GROUPS + group;
    load(rows, start, stop, group, member, next);
    float next_label = mine < stop ? labels[mine] : 0.0f;
    float next_weight = mine < stop ? (weights ? weights[mine] : 1.0f) : 0.0f;
    for (whole base = start; base < stop; base += GROUPS * U) {
        const bool inside = mine < stop;
        const double y = next_label, v = next_weight;
        FOR(u, U) FOR(k, K) x[u][k] = next[u][k];
        mine += GROUPS * U;
        load(rows, base + GROUPS * U, stop, group, member, next);
        next_label = mine < stop ? labels[mine] : 0.0f;
        next_weight = mine < stop ? (weights ? weights[mine] : 1.0f) : 0.0f;
        float scores[TURNS];
        FOR(turn, TURNS) {
            float part[PAIRS];
            FOR(c, TOGETHER) FOR(u, U) {
                float score = 0.0f;
                FOR(k, K) {
                    const float4 at = t[turn * TOGETHER + c][k];
                    score += x[u][k].x * at.x + x[u][k].y * at.y;
                    score += x[u][k].z * at.z + x[u][k].w * at.w;
                }
                part[c * U + u] = score;
            }
            scores[turn] = owned<G, PAIRS>(part, member);
        }
        FOR(turn, TURNS) {
            const int chain = turn * TOGETHER + own_chain;
            double slanted;
            if (QUICK) {  // computed by all lanes: a branch around it would cost more than it does
                const double found = slope_at((double)scores[turn] + bias[chain], y, first, second);
                slanted = inside ? v * found : 0.0;
            } else {
                slanted = inside ? v * slope_at((double)scores[turn] + bias[chain], y, first, second) : 0.0;
            }
            if (writes) steep[warp][group][own_row * C + chain] = slanted;
            total[turn] += writes ? slanted : 0.0;
        }
        __syncwarp();
        FOR(u, U) {
            double wide[K][4];
            FOR(k, K) {
                wide[k][0] = x[u][k].x;
                wide[k][1] = x[u][k].y;
                wide[k][2] = x[u][k].z;
                wide[k][3] = x[u][k].w;
            }
            FOR(c, C) {
                const double s = steep[warp][group][u * C + c];
                FOR(k, K) FOR(e, 4) sum[c][k][e] += s * wide[k][e];
            }
        }
        __syncwarp();
    }
    FOR(c, C) {
        double* const line = out + (run * C + c) * (4 * D4 + 1);
        FOR(k, K) FOR(e, 4) {
            double value = sum[c][k][e];
            for (int step = 16; step >= G; step /= 2) value += __shfl_xor_sync(ALL, value, step);
            if (lane < G && member + k * G < D4) line[4 * (member + k * G) + e] = value;
        }
        const double slopes = sum_of_lanes(own_chain == c % TOGETHER ? total[c / TOGETHER] : 0.0, 32);
        if (lane == 0) line[4 * D4] = slopes;
    }
}
#endif

#ifdef W
#define TEAMS (WARPS / W)
#define PAIRS (C * U < 32 ? C * U : 32)
#define TOGETHER (PAIRS / U)
#define TURNS (C / TOGETHER)

// The same for rows of more than 32 quads and several chains: W warps of a block share a row, a quad each lane, since the sums of all
// chains would not fit into the registers of one. They meet once for every U rows, to add their shares of the scores in the order of
// the warps; each then computes the slopes for itself.
extern "C" __global__ void __launch_bounds__(32 * WARPS) wide_gradient(
    const float4* __restrict__ rows, const float* __restrict__ labels, const float* __restrict__ weights, whole n,
    const float4* __restrict__ theta, const double* __restrict__ bias, double first, double second, double* __restrict__ out) {
    // Two of them in turn: while some warps read one, others may already write to the other.
    __shared__ float shares[2][TEAMS][W][U * C];
    __shared__ double steep[WARPS][U * C];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, team = warp / W, place = warp % W, quad = 32 * place + lane;
    const whole block = (whole)blockIdx.x * TEAMS, run = block + team;
    const whole start = run * RUN, stop = start + RUN < n ? start + RUN : n;
    // All warps of a block meet equally often: as often as the first team, which has at least as many rows as any.
    const whole longest = n - block * RUN < RUN ? n - block * RUN : RUN;
    const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float4 t[C], x[U], next[U];
    FOR(c, C) t[c] = quad < D4 ? theta[c * D4 + quad] : none;
    double sum[C][4], total[TURNS];
    FOR(c, C) FOR(e, 4) sum[c][e] = 0.0;
    FOR(turn, TURNS) total[turn] = 0.0;
    const int pair = lane * PAIRS / 32, own_row = pair % U, own_chain = pair / U;
    const bool writes = lane % (32 / PAIRS) == 0;
    whole mine = start + own_row;
    FOR(u, U) next[u] = start + u < stop && quad < D4 ? rows[(start + u) * D4 + quad] : none;
    float next_label = mine < stop ? labels[mine] : 0.0f;
    float next_weight = mine < stop ? (weights ? weights[mine] : 1.0f) : 0.0f;
    for (whole done = 0; done < longest; done += U) {
        const bool inside = mine < stop;
        const double y = next_label, v = next_weight;
        FOR(u, U) x[u] = next[u];
        mine += U;
        FOR(u, U) {
            const whole i = start + done + U + u;
            next[u] = i < stop && quad < D4 ? rows[i * D4 + quad] : none;
        }
        next_label = mine < stop ? labels[mine] : 0.0f;
        next_weight = mine < stop ? (weights ? weights[mine] : 1.0f) : 0.0f;
        float(*const shared)[U * C] = shares[done / U & 1][team];
        FOR(turn, TURNS) {
            float part[PAIRS];
            FOR(c, TOGETHER) FOR(u, U) {
                const float4 at = t[turn * TOGETHER + c];
                part[c * U + u] = (x[u].x * at.x + x[u].y * at.y) + (x[u].z * at.z + x[u].w * at.w);
            }
            const float share = owned<32, PAIRS>(part, lane);
            if (writes) shared[place][turn * PAIRS + pair] = share;
        }
        __syncthreads();
        FOR(turn, TURNS) {
            const int chain = turn * TOGETHER + own_chain;
            float score = 0.0f;
            FOR(w, W) score += shared[w][turn * PAIRS + pair];
            const double slanted = inside ? v * slope_at((double)score + bias[chain], y, first, second) : 0.0;
            if (writes) steep[warp][own_row * C + chain] = slanted;
            total[turn] += writes ? slanted : 0.0;
        }
        __syncwarp();
        FOR(u, U) {
            const double entries[4] = {x[u].x, x[u].y, x[u].z, x[u].w};
            FOR(c, C) {
                const double s = steep[warp][u * C + c];
                FOR(e, 4) sum[c][e] += s * entries[e];
            }
        }
        __syncwarp();
    }
    if (start >= n) return;
    FOR(c, C) {
        double* const line = out + (run * C + c) * (4 * D4 + 1);
        if (quad < D4) FOR(e, 4) line[4 * quad + e] = sum[c][e];
        const double slopes = sum_of_lanes(own_chain == c % TOGETHER ? total[c / TOGETHER] : 0.0, 32);
        if (place == 0 && lane == 0) line[4 * D4] = slopes;
    }
}
#endif

// Rows of any width, in two reads, with scores in float64. First v phi'(u, y) of every row at one parameter: a warp a row.
extern "C" __global__ void slopes(
    const float4* __restrict__ rows, const float* __restrict__ labels, const float* __restrict__ weights, whole n,
    const double* __restrict__ theta, double bias, double first, double second, double* __restrict__ steep) {
    const int lane = threadIdx.x & 31;
    const whole i = (whole)blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (i >= n) return;
    double part = 0.0;
    for (int q = lane; q < D4; q += 32) {
        const float4 x = rows[i * D4 + q];
        const double* const t = theta + 4 * q;
        part += x.x * t[0] + x.y * t[1] + x.z * t[2] + x.w * t[3];
    }
    const double score = sum_of_lanes(part, 32) + bias;
    const double v = weights ? (double)weights[i] : 1.0;
    if (lane == 0) steep[i] = v * slope(LOSS, score, (double)labels[i], first, second);
}

// Then the sum over a run, four entries a thread; the last thread adds the slopes themselves.
extern "C" __global__ void columns(
    const float4* __restrict__ rows, const double* __restrict__ steep, whole n, double* __restrict__ out) {
    const int blocks = (D4 + 1 + 32 * WARPS - 1) / (32 * WARPS);
    const whole run = blockIdx.x / blocks;
    const int q = (int)(blockIdx.x % blocks) * 32 * WARPS + threadIdx.x;
    const whole start = run * RUN, stop = start + RUN < n ? start + RUN : n;
    if (q > D4) return;
    double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
    for (whole i = start; i < stop; ++i) {
        if (q == D4) {
            a += steep[i];
            continue;
        }
        const float4 x = rows[i * D4 + q];
        a += steep[i] * x.x;
        b += steep[i] * x.y;
        c += steep[i] * x.z;
        d += steep[i] * x.w;
    }
    double* const line = out + run * (4 * D4 + 1) + 4 * q;
    line[0] = a;
    if (q == D4) return;
    line[1] = b;
    line[2] = c;
    line[3] = d;
}

// Sums of 64 lines after each other, one entry a thread: `lines` lines of `width` numbers become lines / 64, rounded up.
extern "C" __global__ void fold(const double* __restrict__ in, whole lines, whole width, double* __restrict__ out) {
    const whole at = (whole)blockIdx.x * 32 * WARPS + threadIdx.x, folded = (lines + 63) / 64;
    if (at >= folded * width) return;
    const whole line = at / width, entry = at % width, last = 64 * line + 64 < lines ? 64 * line + 64 : lines;
    double sum = 0.0;
    for (whole k = 64 * line; k < last; ++k) sum += in[k * width + entry];
    out[at] = sum;
}

// Rows that came to the card as they were: entries that are no finite numbers become 0, and a row that is longer than `longest` is
// shortened to it (every row but 0 is brought to it, where `normalise`). A warp a row.
extern "C" __global__ void enter(
    const float* __restrict__ given, whole n, int d, double longest, int normalise, float* __restrict__ rows) {
    const int lane = threadIdx.x & 31;
    const whole i = (whole)blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (i >= n) return;
    double part = 0.0;
    for (int j = lane; j < d; j += 32) {
        const double x = given[i * d + j];
        part += isfinite(x) ? x * x : 0.0;
    }
    const double square = sum_of_lanes(part, 32), slack = 2.0 * (d + 16) * 1.1102230246251565e-16;
    const bool change = normalise ? square > 0.0 : square > longest * longest * (1.0 - slack);
    const double factor = change ? longest * (1.0 - slack) / sqrt(square) : 1.0;
    for (int j = lane; j < 4 * D4; j += 32) {
        const double x = j < d ? (double)given[i * d + j] : 0.0;
        // Cut off towards 0: no entry grows, so no row does. Zeros have no sign.
        const double size = isfinite(x) ? fabs(x) * factor : 0.0;
        rows[i * 4 * D4 + j] = size == 0.0 ? 0.0f : (x < 0.0 ? -shortened(size) : shortened(size));
    }
}

// Rows as float64, times the root of min(1, R^2/|z|^2) of each where `radius` is positive: z has the columns of the row, the
// constant, and the label's column where `label_scale` is positive. A warp a row.
extern "C" __global__ void widened(
    const float* __restrict__ rows, const float* __restrict__ labels, const float* __restrict__ shares, whole n, int d,
    double constant, double centre, double half, double label_scale, double radius, double* __restrict__ out) {
    const int lane = threadIdx.x & 31, width = d + (constant != 0.0 ? 1 : 0) + (label_scale > 0.0 ? 1 : 0);
    const whole i = (whole)blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (i >= n) return;
    const double label = label_scale > 0.0 ? label_scale * within((double)labels[i] - centre, -half, half) : 0.0;
    double factor = 1.0;
    if (radius > 0.0) {
        double part = 0.0;
        for (int j = lane; j < d; j += 32) part += (double)rows[i * 4 * D4 + j] * rows[i * 4 * D4 + j];
        const double square = sum_of_lanes(part, 32) + constant * constant + label * label;
        // Shortened by more than its rounding errors, so that the term of a record has norm at most R^2.
        const double share = (1.0 - (width + 8) * 2.220446049250313e-16) * radius * radius / square;
        factor = isfinite(square) ? sqrt(share < 1.0 ? share : 1.0) : 0.0;
        if (shares) factor *= sqrt((double)shares[i] * (1.0 - 8 * 2.220446049250313e-16));
    }
    for (int j = lane; j < width; j += 32) {
        const double z = j < d ? (double)rows[i * 4 * D4 + j] : (j == d && constant != 0.0 ? constant : label);
        const double scaled = factor * z;
        out[i * width + j] = isfinite(scaled) ? scaled : 0.0;
    }
}

// v = min(1, 1/|Bz|, bend/|Bz|^2) of rows z and their images Bz, times the row's share, rounded down. A warp a row.
//
// The length is lengthened by more than its rounding errors, as in `shapes._weigh`: `norm` is |B| by its entries.
extern "C" __global__ void weigh(
    const double* __restrict__ z, const double* __restrict__ mapped, const float* __restrict__ shares, whole n, int d, double norm,
    double bend, float* __restrict__ weights) {
    const int lane = threadIdx.x & 31;
    const whole i = (whole)blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (i >= n) return;
    const double ulp = 2.220446049250313e-16;
    double own = 0.0, image = 0.0;
    for (int j = lane; j < d; j += 32) {
        own += z[i * d + j] * z[i * d + j];
        image += mapped[i * d + j] * mapped[i * d + j];
    }
    const double length = sqrt(sum_of_lanes(image, 32)), error = (d + 4) * ulp * norm * sqrt(sum_of_lanes(own, 32));
    const double longest = length * (1.0 + (d + 8) * ulp) + error;
    double v = 1.0 / longest < 1.0 ? 1.0 / longest : 1.0;
    if (isfinite(bend)) v = bend / longest / longest < v ? bend / longest / longest : v;
    if (shares) v *= (double)shares[i] * (1.0 - 8 * ulp);
    if (lane == 0) weights[i] = isfinite(longest) ? shortened(v) : 0.0f;
}

// Bz of every row, times the root of v phi'' in `bent`, and times v phi' in `steep` where it is given; (v phi' |Bz|)^2 in `squares`.
extern "C" __global__ void second_order(
    const double* __restrict__ z, const double* __restrict__ mapped, const float* __restrict__ labels,
    const float* __restrict__ weights, whole n, int d, const double* __restrict__ theta, int code, double first, double second,
    double steepest, double sharpest, double* __restrict__ bent, double* __restrict__ steep, double* __restrict__ squares) {
    const int lane = threadIdx.x & 31;
    const whole i = (whole)blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (i >= n) return;
    double part = 0.0, image = 0.0;
    for (int j = lane; j < d; j += 32) {
        part += z[i * d + j] * theta[j];
        image += mapped[i * d + j] * mapped[i * d + j];
    }
    const double score = sum_of_lanes(part, 32), square = sum_of_lanes(image, 32), v = weights[i], y = labels[i];
    const double slanted = v * within(slope(code, score, y, first, second), -steepest, steepest);
    const double curved = sqrt(v * within(curvature(code, score, y, first, second), 0.0, sharpest));
    for (int j = lane; j < d; j += 32) {
        const double a = curved * mapped[i * d + j], b = slanted * mapped[i * d + j];
        bent[i * d + j] = isfinite(a) ? a : 0.0;
        if (steep) steep[i * d + j] = isfinite(b) ? b : 0.0;
    }
    const double length = slanted * (isfinite(square) ? sqrt(square) : 0.0);
    if (lane == 0) squares[i] = length * length;
}
