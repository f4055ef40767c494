/**
 * glibc's malloc, which buffers come from. Freed memory between buffers in use stays with the process, so that a stream of
 * buffers would cost many times what is in use at once.
 */
import { declareCall } from './ffi.ts';

const M_TRIM_THRESHOLD = -1;
const M_MMAP_THRESHOLD = -3;
/** The size of one read from a socket. */
const LARGE_BYTES = 64 * 1024;
/** Kept free at the end of the heap. By default both thresholds rise with every large buffer that is freed. */
const SPARE_BYTES = 128 * 1024;

const mallocTrim = declareCall<[pad: number]>('int malloc_trim(size_t pad)');
const mallopt = declareCall<[parameter: number, value: number]>('int mallopt(int parameter, int value)');

/** Returns free pages to the kernel. */
export function trimHeap(): void {
  mallocTrim(0);
}

/** Maps each larger buffer separately, so that its memory is returned when it is freed. */
export function mapLargeBuffers(): void {
  mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
  mallopt(M_TRIM_THRESHOLD, SPARE_BYTES);
}
