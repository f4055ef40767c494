/** Offsets and sizes are bytes. */
export interface MachineLayout {
  /** Numbers of system calls. Those from 424 on are the same on all architectures and are not listed here. */
  readonly callNumbers: { readonly newfstatat: number };
  /** `struct stat`. */
  readonly stat: {
    readonly size: number;
    readonly dev: number;
    readonly ino: number;
    readonly mode: number;
    readonly uid: number;
    readonly gid: number;
  };
  /** `struct epoll_event`, which is packed on x86-64 only. */
  readonly epollEventSize: number;
}

/** What differs between the architectures that are supported. */
const LAYOUTS: Readonly<Record<string, MachineLayout>> = {
  x64: {
    callNumbers: { newfstatat: 262 },
    stat: { size: 144, dev: 0, ino: 8, mode: 24, uid: 28, gid: 32 },
    epollEventSize: 12,
  },
  arm64: {
    callNumbers: { newfstatat: 79 },
    stat: { size: 128, dev: 0, ino: 8, mode: 16, uid: 24, gid: 28 },
    epollEventSize: 16,
  },
};

/** Sizes of structs of glibc and the kernel that are the same on x86-64 and arm64. */
export const STRUCT_SIZES = {
  sockaddr_un: 110,
  timeval: 16,
  ifreq: 40,
  /** In 64-bit words. */
  msghdrWords: 7,
  iovecWords: 2,
  /** Without data. */
  cmsghdr: 16,
  sigset_t: 128,
  /** glibc's `posix_spawnattr_t` and `posix_spawn_file_actions_t` have 336 and 80 bytes; both fit. */
  posix_spawn: 512,
} as const;

/** The layout of this machine, or of `arch`; throws for an architecture that is not supported. */
export function machineLayout(arch: string = process.arch): MachineLayout {
  const layout = LAYOUTS[arch];
  if (layout === undefined) throw new Error(`nodelet supports x64 and arm64 machines; this one is ${arch}`);
  return layout;
}
