import { errorText } from '../../base/error-text.ts';
import { goErrorList } from '../../base/go/go-error-list.ts';
import type { Log } from '../../base/log.ts';
import type { FileSystem } from '../../host/file-system.ts';

/** The values that kubelet needs, by the path below /proc/sys. */
const EXPECTED: Readonly<Record<string, number>> = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};

export interface KernelTunablesDeps {
  readonly fs: Pick<FileSystem, 'readText' | 'writeFile'>;
  readonly log: Pick<Log, 'info'>;
}

/**
 * Sets the kernel's flags to the values that kubelet needs. With `protectKernelDefaults` it changes nothing. Rejects if a flag
 * has another value then, or cannot be read or set.
 */
export async function setUpKernelTunables(
  protectKernelDefaults: boolean,
  { fs, log }: KernelTunablesDeps,
): Promise<void> {
  const errors: string[] = [];
  for (const [flag, expectedValue] of Object.entries(EXPECTED)) {
    const file = `/proc/sys/${flag}`;
    try {
      const actualValue = parseFlag(await fs.readText(file));
      if (actualValue === expectedValue) continue;
      if (protectKernelDefaults) {
        errors.push(`invalid kernel flag: ${flag}, expected value: ${expectedValue}, actual value: ${actualValue}`);
        continue;
      }
      log.info('Updating kernel flag', { flag, expectedValue, actualValue });
      await fs.writeFile(file, String(expectedValue));
    } catch (error) {
      errors.push(errorText(error));
    }
  }
  if (errors.length > 0) throw new Error(goErrorList(errors));
}

function parseFlag(text: string): number {
  const trimmed = text.trim();
  if (!/^-?[0-9]+$/.test(trimmed)) throw new Error(`strconv.Atoi: parsing ${JSON.stringify(trimmed)}: invalid syntax`);
  return Number(trimmed);
}
