// The public headers as C++, each twice.
#include "pptc_fatbin.h"
#include "pptc_kernel.h"
#include "pptrt.h"
#include "pptc_fatbin.h"
#include "pptc_kernel.h"
#include "pptrt.h"

ppt_tensor tensor_of(float *data, const int64_t *shape) {
  return ppt_array(data, PPT_F32, 2, shape);
}
