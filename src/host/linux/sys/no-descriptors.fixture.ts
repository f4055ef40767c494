import { declareCall } from './ffi.ts';

const RLIMIT_NOFILE = 7;
const getrlimit = declareCall<[resource: number, limits: bigint[]]>(
  'int getrlimit(int resource, _Out_ uint64_t *limit)',
);
const setrlimit = declareCall<[resource: number, limits: readonly bigint[]]>(
  'int setrlimit(int resource, const uint64_t *limit)',
);

/** The process cannot open a descriptor (EMFILE) until this is disposed of. */
export function withoutDescriptors(): Disposable {
  const limits = [0n, 0n];
  getrlimit(RLIMIT_NOFILE, limits);
  setrlimit(RLIMIT_NOFILE, [0n, limits[1] ?? 0n]);
  return { [Symbol.dispose]: () => void setrlimit(RLIMIT_NOFILE, limits) };
}
