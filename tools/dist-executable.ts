import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The reason why this Node.js cannot create a single executable; `undefined` when it can. */
export function executableUnsupportedReason(): string | undefined {
  const help = spawnSync(process.execPath, ['--help'], { encoding: 'utf8' }).stdout;
  return help.includes('--build-sea') ? undefined : `Node.js ${process.version} has no --build-sea`;
}

/** Writes an executable that contains this Node.js and the bundle. */
export function makeExecutable(bundle: string, output: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-dist-'));
  try {
    const node = join(folder, 'node');
    copyFileSync(process.execPath, node);
    chmodSync(node, 0o755);
    // A quarter of it is debug information. Without strip(1) the executable is larger and works as well.
    spawnSync('strip', ['--strip-all', node], { stdio: 'ignore' });

    const config = join(folder, 'sea.json');
    // Without a code cache it starts 30 ms later, but builds are reproducible.
    writeFileSync(
      config,
      JSON.stringify({
        main: bundle,
        mainFormat: 'module',
        executable: node,
        output,
        disableExperimentalSEAWarning: true,
      }),
    );
    const built = spawnSync(process.execPath, ['--build-sea', config], { encoding: 'utf8' });
    if (built.status !== 0) throw new Error(`node --build-sea failed: ${built.stderr}${built.stdout}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
