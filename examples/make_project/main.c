/* Runs both kernels and checks them. */
#include <stdint.h>
#include <stdio.h>

#include "kernels.h"

enum { ROWS = 45, COLUMNS = 32 };

int main(void) {
    static float x[ROWS * COLUMNS], y[ROWS * COLUMNS], z[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)(i % 97);
    scale(x, y, ROWS, 2.0f);
    scale(x, y, -1, 3.0f);
    shift(y, z, ROWS, 1.0f);
    int wrong = 0;
    for (int i = 0; i < ROWS * COLUMNS; i++) wrong += z[i] != 2.0f * x[i] + 1.0f;
    printf("scale and shift: %d wrong elements\n", wrong);
    return wrong != 0;
}
