/* Modules: a file is read, checked, its best section loaded, and its kernels are found. */
#include "internal.h"

/* One PPTF of a module; a program may carry several, one per object that was linked into it. */
typedef struct module_part {
  ppt_fat fat;
  ppt_image image;
  pptf_entry entry;          /* the one that was chosen */
  const unsigned char *memory; /* where the file lies in the loaded image, for entries of kind IMAGE */
  ppt_function *functions;
  ppt_argument *arguments;
  pptf_signature_pair *pairs;
  size_t function_count;
  size_t argument_count;
  size_t pair_count;
} module_part;

struct ppt_module {
  ppt_context *context;
  unsigned char *bytes; /* the module's own copy of the file, or NULL */
  size_t size;
  module_part *parts;
  size_t part_count;
  char *report;
  size_t report_size;
};

/* What a file is: its bytes, and where they came from. `path` is NULL for memory. */
typedef struct origin {
  const unsigned char *bytes;
  size_t size;
  const char *path;
} origin;

static const char *wanted_target(const ppt_context *context) {
  return context->target[0] ? context->target : NULL;
}

ppt_context *ppt_module_context(const ppt_module *module) {
  return module->context;
}

/* ---------------------------------------------------------------- functions */

static void read_argument(const ppt_fat *fat, const pptf_signature_argument *row, ppt_argument *out) {
  out->name = ppt_fat_string(fat, row->name);
  out->kind = row->kind == PPTF_ARGUMENT_POINTER ? PPT_POINTER : PPT_SCALAR;
  out->dtype.code = row->dtype_code;
  out->dtype.bits = row->dtype_bits;
  out->dtype.lanes = row->dtype_lanes;
  out->access = row->access & (PPT_READS | PPT_WRITES);
}

/* The number that an argument of the signature has among those that a launch passes. */
static uint16_t passed_number(const ppt_fat *fat, const pptf_signature_kernel *kernel, uint32_t number) {
  uint16_t passed = 0;
  for (uint32_t i = 0; i < number; i++) {
    pptf_signature_argument row;
    ppt_fat_signature_argument(fat, kernel->argument_first + i, &row);
    passed = (uint16_t)(passed + (row.role == PPTF_ROLE_PASSED));
  }
  return passed;
}

static void read_signature(module_part *part, uint32_t index, ppt_function *function) {
  pptf_signature_kernel kernel;
  ppt_fat_signature_kernel(&part->fat, index, &kernel);
  function->name = ppt_fat_string(&part->fat, kernel.name);
  function->flags = kernel.flags;
  ppt_argument *arguments = part->arguments + kernel.argument_first;
  function->arguments = arguments;
  for (uint32_t i = 0; i < kernel.argument_count; i++) {
    pptf_signature_argument row;
    ppt_fat_signature_argument(&part->fat, kernel.argument_first + i, &row);
    if (row.role == PPTF_ROLE_PASSED) read_argument(&part->fat, &row, arguments + function->argument_count++);
  }
  pptf_signature_pair *pairs = part->pairs + kernel.pair_first;
  function->pairs = pairs;
  function->pair_count = kernel.pair_count;
  for (uint32_t i = 0; i < kernel.pair_count; i++) {
    pptf_signature_pair pair;
    ppt_fat_signature_pair(&part->fat, kernel.pair_first + i, &pair);
    pairs[i].written = passed_number(&part->fat, &kernel, pair.written);
    pairs[i].read = passed_number(&part->fat, &kernel, pair.read);
  }
}

/* The code of a kernel whose address in the image is known. */
static ppt_status bind_code(const module_part *part, const origin *elf, uint64_t address, ppt_function *function) {
  if (elf->bytes && !ppt_elf_is_code(elf->bytes, elf->size, address))
    return ppt_fail(PPT_E_CORRUPT, "damaged file: kernel %s does not lie in its code", function->name);
  uintptr_t code = part->image.base + (uintptr_t)address;
  memcpy(&function->kernel, &code, sizeof code); /* ISO C has no cast from numbers to code */
  return PPT_OK;
}

/* The address of a kernel in its image: stated, or for this image a distance in the payload. */
static ppt_status kernel_address(const module_part *part, const pptf_kernel *kernel, uint64_t *address) {
  *address = kernel->address;
  if (part->entry.kind != PPTF_KIND_IMAGE) return PPT_OK;
  if (part->entry.payload_size < 8 || kernel->address > part->entry.payload_size - 8)
    return ppt_fail(PPT_E_CORRUPT, "damaged fat file: a kernel lies beyond its section");
  const unsigned char *word = part->memory + part->entry.offset + kernel->address;
  *address = (uintptr_t)word - part->image.base + pptf_u64(word);
  return PPT_OK;
}

/* Finds all kernels of the chosen entry. `elf` is the file that the code was loaded from. */
static ppt_status bind_functions(ppt_module *module, module_part *part, const origin *elf) {
  ppt_status status = PPT_OK;
  for (uint32_t i = 0; i < part->entry.kernel_count; i++) {
    pptf_kernel kernel;
    uint64_t address;
    ppt_function *function = part->functions + i;
    ppt_fat_kernel(&part->fat, part->entry.kernel_first + i, &kernel);
    function->module = module;
    function->scratch_bytes = kernel.scratch_bytes;
    function->code_flags = kernel.flags;
    function->shared_bytes = kernel.shared_bytes;
    function->threads = kernel.threads > 1 ? kernel.threads : 1;
    if (function->threads > PPT_MOST_CORES)
      TRY(ppt_fail(PPT_E_UNSUPPORTED, "a kernel needs %u threads per block; this library runs %d at most",
                   (unsigned)function->threads, PPT_MOST_CORES));
    read_signature(part, kernel.signature, function);
    TRY(kernel_address(part, &kernel, &address));
    TRY(bind_code(part, elf, address, function));
  }
done:
  return status;
}

static ppt_status allocate_functions(ppt_module *module, module_part *part) {
  ppt_status status = PPT_OK;
  part->function_count = part->entry.kernel_count;
  part->argument_count = part->fat.signature.argument_count;
  part->pair_count = part->fat.signature.pair_count;
  TRY(ppt_allocate(module->context, part->function_count * sizeof *part->functions, &part->functions));
  TRY(ppt_allocate(module->context, part->argument_count * sizeof *part->arguments, &part->arguments));
  TRY(ppt_allocate(module->context, part->pair_count * sizeof *part->pairs, &part->pairs));
done:
  return status;
}

/* ---------------------------------------------------------------- parts */

/* Chooses an entry and appends why to the report. */
static ppt_status choose(ppt_module *module, module_part *part) {
  ppt_context *context = module->context;
  size_t size = module->report_size + 64 + 400 * (size_t)part->fat.header.entry_count;
  char *bytes = NULL;
  ppt_status status = ppt_allocate(context, size, &bytes);
  if (status) return status;
  ppt_text text = {bytes, size, 0};
  if (module->report) ppt_text_add(&text, "%s", module->report);
  long chosen = ppt_select(&part->fat, &context->facts, wanted_target(context), &text);
  ppt_release(context, module->report, module->report_size);
  module->report = bytes;
  module->report_size = size;
  if (chosen < 0)
    return ppt_fail(PPT_E_NO_IMAGE,
                    "no section of the file fits this machine, %s\n%sadd one with -t %s", context->device, bytes,
                    context->facts.machine == PPTF_MACHINE_AARCH64 ? "neon" : "x86-64");
  ppt_fat_entry(&part->fat, (size_t)chosen, &part->entry);
  ppt_log(context, PPT_LOG_INFO, "section %ld, %s, is chosen", chosen,
          ppt_fat_string(&part->fat, part->entry.target));
  return PPT_OK;
}

/* Loads a section that is an image of its own. */
static ppt_status load_payload(ppt_module *module, module_part *part) {
  ppt_status status = PPT_OK;
  origin elf = {part->fat.bytes + part->entry.offset, (size_t)part->entry.payload_size, NULL};
  TRY(ppt_fat_check_payload(&part->fat, &part->entry));
  if (!ppt_elf_is(elf.bytes, elf.size))
    TRY(ppt_fail(PPT_E_CORRUPT, "section %s is no ELF image", ppt_fat_string(&part->fat, part->entry.target)));
  TRY(ppt_image_load_memory(elf.bytes, elf.size, &part->image));
  TRY(allocate_functions(module, part));
  TRY(bind_functions(module, part, &elf));
done:
  return status;
}

/* Loads the image that carries the file; what was mapped must be what was checked. */
static ppt_status load_carrier(ppt_module *module, module_part *part, const origin *elf,
                               const ppt_elf_section *section) {
  ppt_status status = PPT_OK;
  if (elf->path) TRY(ppt_image_load_file(elf->path, &part->image));
  else TRY(ppt_image_load_memory(elf->bytes, elf->size, &part->image));
  part->memory = (const unsigned char *)(part->image.base + (uintptr_t)section->address);
  if (memcmp(part->memory, part->fat.bytes, (size_t)part->fat.header.total_size) != 0)
    TRY(ppt_fail(PPT_E_LOAD, "%s changed while it was opened, or an older version of it is loaded",
                 elf->path ? elf->path : "the image"));
  TRY(allocate_functions(module, part));
  TRY(bind_functions(module, part, elf));
done:
  return status;
}

/* Loads what was chosen of a fat file. The carrier is NULL for a stand-alone file. */
static ppt_status load_part(ppt_module *module, module_part *part, const origin *carrier,
                            const ppt_elf_section *section) {
  ppt_status status = choose(module, part);
  if (status) return status;
  if (part->entry.kind != PPTF_KIND_IMAGE) return load_payload(module, part);
  if (carrier) return load_carrier(module, part, carrier, section);
  return ppt_fail(PPT_E_CORRUPT, "a stand-alone fat file cannot have code in the image around it");
}

/* Opens the bytes of a fat file, or of a shared object that carries one. */
static ppt_status open_origin(ppt_module *module, const origin *from) {
  ppt_status status = PPT_OK;
  TRY(ppt_allocate(module->context, sizeof *module->parts, &module->parts));
  module->part_count = 1;
  if (!ppt_elf_is(from->bytes, from->size)) {
    TRY(ppt_fat_open(&module->parts->fat, from->bytes, from->size));
    TRY(load_part(module, module->parts, NULL, NULL));
  } else {
    ppt_elf_section section;
    TRY(ppt_elf_find_section(from->bytes, from->size, PPTF_SECTION_NAME, &section));
    if (!ppt_elf_is_mapped(from->bytes, from->size, &section))
      TRY(ppt_fail(PPT_E_CORRUPT, "damaged ELF file: section %s is not loaded", PPTF_SECTION_NAME));
    TRY(ppt_fat_open(&module->parts->fat, from->bytes + section.offset, section.size));
    TRY(load_part(module, module->parts, from, &section));
  }
done:
  return status;
}

/* ---------------------------------------------------------------- open and close */

static ppt_status create(ppt_context *context, const ppt_module_options *options, uint32_t *flags,
                         ppt_module **out) {
  if (!out) return ppt_fail(PPT_E_INVALID_ARGUMENT, "there is nowhere to put the module");
  *out = NULL;
  if (!context) return ppt_fail(PPT_E_INVALID_ARGUMENT, "a module needs a context");
  if (options && options->struct_size < sizeof(ppt_module_options))
    return ppt_fail(PPT_E_INVALID_ARGUMENT, "module options of %u bytes; begin with PPT_MODULE_OPTIONS_INIT",
                    (unsigned)options->struct_size);
  *flags = options ? options->flags : 0;
  ppt_status status = ppt_allocate(context, sizeof(ppt_module), out);
  if (status) return status;
  ppt_context_retain(context);
  (*out)->context = context;
  return PPT_OK;
}

/* Hands the module out, or closes it after a failure. */
static ppt_status finish(ppt_status status, ppt_module *module, ppt_module **out) {
  if (status) {
    if (module) ppt_log(module->context, PPT_LOG_ERROR, "%s", ppt_last_error());
    ppt_module_close(module);
    module = NULL;
  }
  if (out) *out = module;
  return status;
}

ppt_status ppt_module_open_file(ppt_context *context, const char *path, const ppt_module_options *options,
                                ppt_module **out) {
  ppt_status status = PPT_OK;
  ppt_module *module = NULL;
  ppt_file file = {-1, 0};
  uint32_t flags = 0;
  TRY(create(context, options, &flags, &module));
  if (!path) TRY(ppt_fail(PPT_E_INVALID_ARGUMENT, "a module needs a path"));
  TRY(ppt_file_open(path, &file));
  TRY(ppt_allocate(context, file.size, &module->bytes));
  module->size = file.size;
  TRY(ppt_file_read(&file, path, module->bytes));
  const origin from = {module->bytes, module->size, path};
  TRY(open_origin(module, &from));
done:
  ppt_file_close(&file);
  return finish(status, module, out);
}

ppt_status ppt_module_open_memory(ppt_context *context, const void *bytes, size_t size,
                                  const ppt_module_options *options, ppt_module **out) {
  ppt_status status = PPT_OK;
  ppt_module *module = NULL;
  uint32_t flags = 0;
  TRY(create(context, options, &flags, &module));
  if (!bytes) TRY(ppt_fail(PPT_E_INVALID_ARGUMENT, "a module needs bytes"));
  if (!(flags & PPT_OPEN_BORROW)) {
    TRY(ppt_allocate(context, size, &module->bytes));
    module->size = size;
    memcpy(module->bytes, bytes, size);
  }
  const origin from = {module->bytes ? module->bytes : bytes, size, NULL};
  TRY(open_origin(module, &from));
done:
  return finish(status, module, out);
}

/* The next fat file of a section at or after `offset`; linkers pad with zeros. */
static const char *next_file(const char *begin, const char *end, size_t *offset) {
  size_t size = (size_t)(end - begin);
  while (*offset < size && begin[*offset] == 0) *offset += PPTF_PAYLOAD_ALIGN;
  return *offset < size ? begin + *offset : NULL;
}

static ppt_status open_parts(ppt_module *module, const char *begin, const char *end, bool count_only) {
  size_t offset = 0, number = 0;
  ppt_status status = PPT_OK;
  for (const char *at; (at = next_file(begin, end, &offset)) != NULL; number++) {
    module_part counted = {0}, *each = count_only ? &counted : module->parts + number;
    TRY(ppt_fat_open(&each->fat, at, (size_t)(end - at)));
    offset += (size_t)each->fat.header.total_size;
    offset += (PPTF_PAYLOAD_ALIGN - offset % PPTF_PAYLOAD_ALIGN) % PPTF_PAYLOAD_ALIGN;
    if (count_only) continue;
    each->memory = (const unsigned char *)at;
    TRY(choose(module, each));
    if (each->entry.kind != PPTF_KIND_IMAGE) TRY(load_payload(module, each));
    else {
      const origin trusted = {NULL, 0, NULL}; /* the program itself: its distances need no check */
      TRY(allocate_functions(module, each));
      TRY(bind_functions(module, each, &trusted));
    }
  }
  module->part_count = number;
done:
  return status;
}

ppt_status ppt_module_open_section(ppt_context *context, const void *begin, const void *end,
                                   const ppt_module_options *options, ppt_module **out) {
  ppt_status status = PPT_OK;
  ppt_module *module = NULL;
  uint32_t flags = 0;
  TRY(create(context, options, &flags, &module));
  if (!begin || !end || (const char *)end < (const char *)begin)
    TRY(ppt_fail(PPT_E_INVALID_ARGUMENT, "a section lies between two addresses"));
  TRY(open_parts(module, begin, end, true));
  TRY(ppt_allocate(context, module->part_count * sizeof *module->parts, &module->parts));
  TRY(open_parts(module, begin, end, false));
done:
  return finish(status, module, out);
}

void ppt_module_close(ppt_module *module) {
  if (!module) return;
  ppt_context *context = module->context;
  for (size_t i = 0; module->parts && i < module->part_count; i++) {
    module_part *each = module->parts + i;
    ppt_image_unload(&each->image);
    ppt_release(context, each->functions, each->function_count * sizeof *each->functions);
    ppt_release(context, each->arguments, each->argument_count * sizeof *each->arguments);
    ppt_release(context, each->pairs, each->pair_count * sizeof *each->pairs);
  }
  ppt_release(context, module->parts, module->part_count * sizeof *module->parts);
  ppt_release(context, module->report, module->report_size);
  ppt_release(context, module->bytes, module->size);
  ppt_release(context, module, sizeof *module);
  ppt_context_release(context);
}

/* ---------------------------------------------------------------- reflection */

const char *ppt_module_target(const ppt_module *module) {
  if (!module || !module->part_count) return "";
  return ppt_fat_string(&module->parts->fat, module->parts->entry.target);
}

const char *ppt_module_report(const ppt_module *module) {
  return module && module->report ? module->report : "";
}

size_t ppt_module_function_count(const ppt_module *module) {
  size_t count = 0;
  for (size_t i = 0; module && i < module->part_count; i++) count += module->parts[i].function_count;
  return count;
}

const ppt_function *ppt_module_function_at(const ppt_module *module, size_t index) {
  for (size_t i = 0; module && i < module->part_count; i++) {
    if (index < module->parts[i].function_count) return module->parts[i].functions + index;
    index -= module->parts[i].function_count;
  }
  return NULL;
}

ppt_status ppt_module_function(const ppt_module *module, const char *name, const ppt_function **out) {
  if (!out) return ppt_fail(PPT_E_INVALID_ARGUMENT, "there is nowhere to put the kernel");
  *out = NULL;
  if (!module || !name) return ppt_fail(PPT_E_INVALID_ARGUMENT, "a kernel needs a module and a name");
  char names[512] = "";
  ppt_text text = {names, sizeof names, 0};
  const ppt_function *each;
  for (size_t i = 0; (each = ppt_module_function_at(module, i)) != NULL; i++) {
    if (strcmp(each->name, name) == 0) {
      *out = each;
      return PPT_OK;
    }
    ppt_text_add(&text, "%s%s", i ? ", " : "", each->name);
  }
  return ppt_fail(PPT_E_NOT_FOUND, "no kernel is named '%s'; the module has: %s", name, names);
}

const char *ppt_function_name(const ppt_function *function) {
  return function ? function->name : "";
}

uint64_t ppt_function_scratch_bytes(const ppt_function *function) {
  return function ? function->scratch_bytes : 0;
}

int ppt_function_uses_grid(const ppt_function *function) {
  return function && (function->flags & PPTF_KERNEL_USES_GRID);
}

size_t ppt_function_argument_count(const ppt_function *function) {
  return function ? function->argument_count : 0;
}

ppt_status ppt_function_argument(const ppt_function *function, size_t index, ppt_argument *argument) {
  if (!argument) return ppt_fail(PPT_E_INVALID_ARGUMENT, "there is nowhere to put the argument");
  memset(argument, 0, sizeof *argument);
  if (!function || index >= function->argument_count)
    return ppt_fail(PPT_E_INVALID_ARGUMENT, "the kernel has no argument %zu", index);
  *argument = function->arguments[index];
  return PPT_OK;
}
