/* Calls a PTO kernel as a plain C function. Build:

     pptc -t avx2 vadd.pto -o vadd.so
     gcc host.c ./vadd.so -o host && ./host
*/
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void vadd(float *x, float *y, float *z, int32_t rows);

static int check(int32_t rows) {
    size_t n = (size_t)rows * 64;
    float *x = malloc(n * 4 + 4), *y = malloc(n * 4 + 4), *z = malloc(n * 4 + 4);
    if (!x || !y || !z) return 1;
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)i;
        y[i] = 0.5f * (float)i;
        z[i] = -1.0f;
    }
    z[n] = 42.0f;
    vadd(x, y, z, rows);
    int wrong = z[n] != 42.0f;
    for (size_t i = 0; i < n; i++) wrong += z[i] != x[i] + y[i];
    free(x);
    free(y);
    free(z);
    return wrong;
}

int main(void) {
    static const int32_t rows[] = {0, 1, 7, 64, 1000};
    int wrong = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) wrong += check(rows[i]);
    printf("vadd: %d wrong elements\n", wrong);
    return wrong != 0;
}
