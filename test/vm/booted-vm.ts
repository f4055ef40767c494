import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { bundle } from '../../tools/dist-bundle.ts';
import type { ClusterTool } from '../integration/cluster-tools.ts';
import { makeSourceImage } from './source-image.ts';
import { makeToolsImage } from './tools-image.ts';
import { VirtualMachine } from './virtual-machine.ts';
import type { VmFiles } from './vm-files.ts';

/** As deep as the programs: they find other files of the checkout relative to their own. */
const BUNDLES = 'test/bundles';
const CHECKOUT = join(import.meta.dirname, '../..');

export interface GuestPrograms {
  readonly files: VmFiles;
  /** Programs that the guest gets at `/tools`. */
  readonly tools?: readonly ClusterTool[];
  /** Programs of `test/*` that it gets as bundles, see `bundlePath`. */
  readonly scripts?: readonly string[];
}

/** Where the bundle of a program is, below `/nodelet`. */
export function bundlePath(script: string): string {
  return join(BUNDLES, `${basename(script, '.ts')}.mjs`);
}

/** Boots a virtual machine with this checkout at `/nodelet`, calls `work` and ends the machine. */
export async function withVirtualMachine<T>(
  { files, tools = [], scripts = [] }: GuestPrograms,
  work: (vm: VirtualMachine) => Promise<T>,
): Promise<T> {
  // Bundles start faster than the sources, which counts under emulation.
  await bundle(join(CHECKOUT, 'src/main.ts'), join(CHECKOUT, 'dist/nodelet.mjs'));
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-vm-source-'));
  try {
    const more = join(folder, 'more');
    for (const script of scripts) await bundle(join(CHECKOUT, script), join(more, bundlePath(script)));
    const source = makeSourceImage(CHECKOUT, folder, scripts.length > 0 ? more : undefined);
    const image = tools.length > 0 ? makeToolsImage(tools, folder) : undefined;
    await using vm = new VirtualMachine({ files, source, tools: image });
    console.log(`vm: booted in ${Math.round(await vm.boot())} s`);
    return await work(vm);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
