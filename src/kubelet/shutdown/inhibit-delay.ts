import { formatDurationMs } from '../../base/duration.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { LoginConnection } from '../../host/login-manager.ts';

const FOLDER = '/etc/systemd/logind.conf.d';
const FILE = `${FOLDER}/99-kubelet.conf`;
/** logind reads its configuration some time after the request: kubelet's delays between its checks. */
const CHECKS_MS = [100, 200, 400, 800];

export interface InhibitDelayDeps {
  readonly fs: Pick<FileSystem, 'makeDirectory' | 'writeFile'>;
  readonly clock: Clock;
}

/** Raises the time for which logind delays a shutdown to at least `seconds`, as kubelet does. */
export async function ensureInhibitDelay(
  connection: LoginConnection,
  seconds: number,
  { fs, clock }: InhibitDelayDeps,
  signal: AbortSignal,
): Promise<void> {
  let delayMs = await connection.inhibitDelayMs(signal);
  if (seconds * 1000 <= delayMs) return;
  await fs.makeDirectory(FOLDER, 0o755);
  await fs.writeFile(FILE, `# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=${seconds}\n`, { mode: 0o644 });
  await connection.reloadConfiguration(signal);
  for (const checkMs of [...CHECKS_MS, undefined]) {
    delayMs = await connection.inhibitDelayMs(signal);
    if (seconds * 1000 <= delayMs) return;
    if (checkMs !== undefined) await clock.sleep(checkMs, signal);
  }
  throw new Error(
    `node shutdown manager was timed out after ${CHECKS_MS.length + 1} attempts waiting for logind InhibitDelayMaxSec to update to ${formatDurationMs(seconds * 1000)} (ShutdownGracePeriod), current value is ${formatDurationMs(delayMs)}`,
  );
}
