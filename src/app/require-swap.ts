import { errorText } from '../base/error-text.ts';
import type { Log } from '../base/log.ts';
import type { Host } from '../host/host.ts';
import { isSwapOn } from '../kubelet/resources/swap-facts.ts';
import type { KubeletSettings } from './config/load-config.ts';
import { StartupError } from './embedded/startup-error.ts';

const SWAP_ON = 'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false';

/** Rejects with a `StartupError` if the machine has swap that the configuration does not allow. */
export async function requireSwapSettings(
  { config, featureGates }: KubeletSettings,
  { fs, cgroups }: Pick<Host, 'fs' | 'cgroups'>,
  log: Log,
): Promise<void> {
  const isOn = await isSwapOn(fs).catch((error: unknown) => {
    throw new StartupError(`failed to determine if swap is on: ${errorText(error)}`, { cause: error });
  });
  if (isOn && config.failSwapOn) throw new StartupError(SWAP_ON);
  const { swapBehavior = '' } = config.memorySwap;
  if (!config.failSwapOn && swapBehavior === '') {
    log.info('NoSwap is set due to memorySwapBehavior not specified', { failSwapOn: false });
  }
  if (featureGates.get('MemoryQoS') && cgroups.version === 'v1') {
    log.warn('the feature gate MemoryQoS has no effect with cgroup v1');
  }
}
