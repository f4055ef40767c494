/** Project quotas, by descriptors of directories. */
import { declareNumbered, declareVariant } from './ffi.ts';

const QUOTACTL_FD = 443;
const PRJQUOTA = 2;
const Q_GETQUOTA = 0x800007;
const Q_XGETQSTAT = 0x5805;
/** Of `fs_quota_stat.qs_flags`. */
const FS_QUOTA_PDQ_ACCT = 1 << 4;

/** The same numbers on all architectures that Node.js runs on; the size of `struct fsxattr` is part of them. */
const FS_IOC_FSGETXATTR = 0x801c581f;
const FS_IOC_FSSETXATTR = 0x401c5820;
const FS_XFLAG_PROJINHERIT = 0x200;
/** `struct fsxattr`. */
const FSXATTR = { bytes: 28, flags: 0, project: 12 };
/** `struct if_dqblk`, in bytes. */
const DQBLK = { bytes: 72, usedBytes: 16, usedInodes: 40 };
/** Larger than `struct fs_quota_stat`. */
const QUOTA_STAT = { bytes: 256, flags: 2 };

const quotactlFd = declareNumbered<[fd: number, command: number, id: number, value: Uint8Array]>(
  'quotactl_fd',
  QUOTACTL_FD,
  ['unsigned int', 'unsigned int', 'unsigned int', 'uint8_t *'],
);
const ioctl = declareVariant<[fd: number, request: number, value: Uint8Array]>('ioctl', [
  'int',
  'unsigned long',
  'uint8_t *',
]);

/** Whether the file system counts what projects use. Fails with ENOSYS or ESRCH where it has no quotas. */
export function countsProjects(fd: number): boolean {
  const stat = new DataView(new ArrayBuffer(QUOTA_STAT.bytes));
  quotactlFd(fd, command(Q_XGETQSTAT), 0, bytesOf(stat));
  return (stat.getUint16(QUOTA_STAT.flags, true) & FS_QUOTA_PDQ_ACCT) !== 0;
}

/** What the files of a project use. Fails with ENOENT where the file system knows no such project. */
export function projectUsage(fd: number, project: number): { readonly bytes: bigint; readonly inodes: bigint } {
  const block = new DataView(new ArrayBuffer(DQBLK.bytes));
  quotactlFd(fd, command(Q_GETQUOTA), project, bytesOf(block));
  return {
    bytes: block.getBigUint64(DQBLK.usedBytes, true),
    inodes: block.getBigUint64(DQBLK.usedInodes, true),
  };
}

export function projectOf(fd: number): number {
  return attributes(fd).getUint32(FSXATTR.project, true);
}

/** New files in the directory inherit the project. */
export function setProject(fd: number, project: number): void {
  const value = attributes(fd);
  value.setUint32(FSXATTR.flags, value.getUint32(FSXATTR.flags, true) | FS_XFLAG_PROJINHERIT, true);
  value.setUint32(FSXATTR.project, project, true);
  ioctl(fd, FS_IOC_FSSETXATTR, bytesOf(value));
}

function attributes(fd: number): DataView<ArrayBuffer> {
  const value = new DataView(new ArrayBuffer(FSXATTR.bytes));
  ioctl(fd, FS_IOC_FSGETXATTR, bytesOf(value));
  return value;
}

function command(operation: number): number {
  return ((operation << 8) | PRJQUOTA) >>> 0;
}

function bytesOf({ buffer }: DataView<ArrayBuffer>): Uint8Array {
  return new Uint8Array(buffer);
}
