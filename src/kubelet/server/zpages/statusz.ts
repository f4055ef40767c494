import { byCodePoint } from '../../../base/code-point-order.ts';
import { formatTime } from '../../../base/rfc3339.ts';

/** What `/statusz` shows of the process. */
export interface ProcessStatus {
  readonly startedMs: number;
  readonly nowMs: number;
  /** Of the program that stands in the place of kubelet. */
  readonly languageVersion: string;
  /** `v1.36.4` */
  readonly kubernetesVersion: string;
  /** Endpoints for debugging. */
  readonly paths: readonly string[];
}

const HEADER =
  '\nkubelet statusz\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n';

/** The fields of the object, without kind, version and metadata. */
export function statuszFields(status: ProcessStatus) {
  return {
    startTime: formatTime(status.startedMs),
    uptimeSeconds: uptimeSeconds(status),
    goVersion: status.languageVersion,
    binaryVersion: status.kubernetesVersion.replace(/^v/, ''),
    emulationVersion: /^v?(\d+\.\d+)/.exec(status.kubernetesVersion)?.[1] ?? '',
    paths: firstParts(status.paths),
  };
}

export function statuszText(status: ProcessStatus): string {
  const { goVersion, binaryVersion, emulationVersion, paths } = statuszFields(status);
  const up = uptimeSeconds(status);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${HEADER}
Started: ${unixDate(status.startedMs)}
Up: ${Math.floor(up / 3600)} hr ${two(Math.floor(up / 60) % 60)} min ${two(up % 60)} sec
Go version: ${goVersion}
Binary version: ${binaryVersion}
Emulation version: ${emulationVersion}
Paths: ${paths.join(' ')}
`;
}

function uptimeSeconds({ nowMs, startedMs }: ProcessStatus): number {
  return Math.max(0, Math.floor((nowMs - startedMs) / 1000));
}

function firstParts(paths: readonly string[]): readonly string[] {
  const parts = paths.map((path) => path.split('/')[1] ?? '').filter((part) => part !== '');
  return [...new Set(parts.map((part) => `/${part}`))].toSorted(byCodePoint);
}

const DAYS = ['Thu', 'Fri', 'Sat', 'Sun', 'Mon', 'Tue', 'Wed'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `Wed Nov 18 19:45:56 UTC 2026` */
function unixDate(ms: number): string {
  const [, year, month, day, time] = /^(\d+)-(\d\d)-(\d\d)T([\d:]+)/.exec(formatTime(ms)) ?? [];
  const weekday = DAYS[Math.floor(ms / 86_400_000) % 7];
  return `${weekday} ${MONTHS[Number(month) - 1]} ${String(Number(day)).padStart(2)} ${time} UTC ${year}`;
}
