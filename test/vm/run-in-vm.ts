// `make vm`: runs test/vm/suite on a machine with systemd and cgroup v2. On this machine, if it is one; else in a virtual
// machine (scripts/vm-image.sh), which is booted from a fresh disk and ended afterwards.
//
//   scripts/node test/vm/run-in-vm.ts [FILE…]   the files of test/vm/suite to run (default: all)
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { makeSourceImage } from './source-image.ts';
import { systemdSkipReason } from './systemd-skip.ts';
import { VirtualMachine } from './virtual-machine.ts';
import { findVmFiles } from './vm-files.ts';

/** For one file, under emulation. */
const FILE_SECONDS = 1800;
const CHECKOUT = join(import.meta.dirname, '../..');

const names = process.argv.slice(2);
const files = globSync('test/vm/suite/*.test.ts', { cwd: CHECKOUT })
  .sort()
  .filter((file) => names.length === 0 || names.some((name) => basename(file).startsWith(name)));
if (files.length === 0) throw new Error(`no file of test/vm/suite begins with ${names.join(' or ')}`);

const isHere = systemdSkipReason() === false;
process.exitCode = isHere ? runHere() : await runInVm();

function runHere(): number {
  const { status } = spawnSync('scripts/node', testArguments(files), { cwd: CHECKOUT, stdio: 'inherit' });
  return status ?? 1;
}

async function runInVm(): Promise<number> {
  const found = findVmFiles(CHECKOUT);
  if (typeof found === 'string') {
    console.log(`vm: skipped: ${found}`);
    return 0;
  }
  execFileSync('scripts/node', ['tools/dist.ts'], { cwd: CHECKOUT }); // starts faster than the sources
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-vm-source-'));
  try {
    await using vm = new VirtualMachine({ files: found, source: makeSourceImage(CHECKOUT, folder) });
    console.log(`vm: booted in ${Math.round(await vm.boot())} s`);
    let failed = 0;
    for (const file of files) {
      const command = `cd /nodelet && scripts/node ${testArguments([file]).join(' ')} 2>&1`;
      const { code, stdout } = await vm.run(command, FILE_SECONDS);
      process.stdout.write(stdout);
      if (code !== 0) failed++;
    }
    console.log(`vm: ${files.length - failed} of ${files.length} files passed`);
    return failed === 0 ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function testArguments(files: readonly string[]): readonly string[] {
  return ['--import', './test/setup.ts', '--test', '--test-reporter=spec', '--test-concurrency=1', ...files];
}
