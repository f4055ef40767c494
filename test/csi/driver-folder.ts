import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory for drivers with a short path, as it holds sockets; disposing it also frees its loop devices. */
export interface DriverFolder extends Disposable {
  readonly path: string;
}

/** Also removes those of killed runs. */
export function newDriverFolder(): DriverFolder {
  sweepDeadRuns();
  const path = mkdtempSync(join(tmpdir(), `nodelet-csi-${process.pid}-`));
  return { path, [Symbol.dispose]: () => removeDriverFolder(path) };
}

/** Loop devices whose file is in a directory, each as `/dev/loop0 file`. */
export function loopDevicesOf(folder: string): readonly string[] {
  return loopDevices().filter((line) => line.includes(`${folder}/`));
}

function removeDriverFolder(path: string): void {
  for (const line of loopDevicesOf(path)) execFileSync('losetup', ['--detach', line.split(' ')[0] ?? '']);
  rmSync(path, { recursive: true, force: true });
}

/** Also the loop devices that their agents made. */
function sweepDeadRuns(): void {
  const isDead = (text: string): boolean => {
    const pid = /nodelet-(?:csi|cluster)-(\d+)-/.exec(text)?.[1];
    return pid !== undefined && !existsSync(`/proc/${pid}`);
  };
  for (const line of loopDevices().filter(isDead)) execFileSync('losetup', ['--detach', line.split(' ')[0] ?? '']);
  for (const name of readdirSync(tmpdir()))
    if (name.startsWith('nodelet-csi-') && isDead(name)) rmSync(join(tmpdir(), name), { recursive: true, force: true });
}

function loopDevices(): readonly string[] {
  const columns = ['--list', '--noheadings', '--output', 'NAME,BACK-FILE'];
  return execFileSync('losetup', columns, { encoding: 'utf8' }).split('\n').filter(Boolean);
}
