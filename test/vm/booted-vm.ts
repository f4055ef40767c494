import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClusterTool } from '../integration/cluster-tools.ts';
import { makeSourceImage } from './source-image.ts';
import { makeToolsImage } from './tools-image.ts';
import { VirtualMachine } from './virtual-machine.ts';
import type { VmFiles } from './vm-files.ts';

const CHECKOUT = join(import.meta.dirname, '../..');

export interface GuestPrograms {
  readonly files: VmFiles;
  /** Programs that the guest gets at `/tools`. */
  readonly tools?: readonly ClusterTool[];
}

/** Boots a virtual machine with this checkout at `/nodelet`, calls `work` and ends the machine. */
export async function withVirtualMachine<T>(
  { files, tools = [] }: GuestPrograms,
  work: (vm: VirtualMachine) => Promise<T>,
): Promise<T> {
  execFileSync('scripts/node', ['tools/dist.ts'], { cwd: CHECKOUT }); // starts faster than the sources
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-vm-source-'));
  try {
    const source = makeSourceImage(CHECKOUT, folder);
    const image = tools.length > 0 ? makeToolsImage(tools, folder) : undefined;
    await using vm = new VirtualMachine({ files, source, tools: image });
    console.log(`vm: booted in ${Math.round(await vm.boot())} s`);
    return await work(vm);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
