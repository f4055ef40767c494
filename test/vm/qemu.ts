import { join } from 'node:path';
import type { VmFiles } from './vm-files.ts';

export interface QemuSettings {
  readonly files: VmFiles;
  /** The overlay of the guest's disk. */
  readonly disk: string;
  /** A file system image that the guest gets as a second disk, read-only. */
  readonly source: string;
  /** The same as a third disk. */
  readonly tools?: string | undefined;
  /** The port of this machine, on loopback, that leads to the guest's ssh. */
  readonly sshPort: number;
  /** Where the guest's console is written to. */
  readonly console: string;
  /** Appended to the guest's kernel command line. */
  readonly kernelArguments: readonly string[];
}

/** One program of the unpacked packages, run by its own loader: the machine's libraries are older. */
export function qemuProgram({ qemu }: VmFiles, name: string, args: readonly string[]): readonly [string, ...string[]] {
  const libraries = join(qemu, 'usr/lib/x86_64-linux-gnu');
  return [join(qemu, 'lib64/ld-linux-x86-64.so.2'), '--library-path', libraries, join(qemu, 'usr/bin', name), ...args];
}

export function qemuEnvironment({ qemu }: VmFiles): NodeJS.ProcessEnv {
  return { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', QEMU_MODULE_DIR: join(qemu, 'usr/lib/x86_64-linux-gnu/qemu') };
}

/** The arguments that boot the guest without KVM. */
export function qemuArguments(settings: QemuSettings): readonly string[] {
  const { files, disk, source, tools, sshPort, console, kernelArguments } = settings;
  const kernel = [
    'root=/dev/vda rw console=ttyS0 net.ifnames=0 panic=-1 mitigations=off',
    'apparmor=1 security=apparmor',
    ...kernelArguments,
  ];
  return [
    ...['-L', join(files.qemu, 'usr/share/qemu'), '-L', join(files.qemu, 'usr/share/seabios')],
    ...['-M', 'q35', '-accel', 'tcg,thread=multi,tb-size=1024', '-cpu', 'Westmere', '-smp', '2', '-m', '4096'],
    ...['-display', 'none', '-no-reboot', '-serial', `file:${console}`],
    ...['-kernel', files.kernel, '-initrd', files.initialRamDisk, '-append', kernel.join(' ')],
    ...['-drive', `file=${disk},format=qcow2,if=virtio,cache=writeback`],
    ...[source, ...(tools ? [tools] : [])].flatMap((file) => [
      '-drive',
      `file=${file},format=raw,if=virtio,readonly=on`,
    ]),
    ...['-netdev', `user,id=net0,hostfwd=tcp:127.0.0.1:${sshPort}-:22`, '-device', 'virtio-net-pci,netdev=net0'],
    ...['-device', 'virtio-rng-pci'],
  ];
}
