import koffi from 'koffi';

/**
 * What glibc's malloc keeps. Buffers come from there, and what is freed between others stays with the process, so that a
 * stream of buffers would cost many times what is in use at once.
 */
const libc = koffi.load('libc.so.6');
const mallocTrim = libc.func('int malloc_trim(size_t pad)');
const mallopt = libc.func('int mallopt(int parameter, int value)');
const M_TRIM_THRESHOLD = -1;
const M_MMAP_THRESHOLD = -3;
/** What is read from a socket at once. */
const LARGE_BYTES = 64 * 1024;
/** As much is kept at the end of the heap. By themselves both bounds rise with every large buffer that is freed. */
const SPARE_BYTES = 128 * 1024;

/** Gives the pages back that hold nothing. */
export function trimHeap(): void {
  mallocTrim(0);
}

/** Larger buffers are mapped one by one, and gone when they are freed. */
export function mapLargeBuffers(): void {
  mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
  mallopt(M_TRIM_THRESHOLD, SPARE_BYTES);
}
