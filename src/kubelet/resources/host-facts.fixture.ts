import type { HostFacts } from './host-facts.ts';

/** A small machine without huge pages, swap and security modules. */
export const HOST_FACTS: HostFacts = {
  cgroupVersion: 'v1',
  hugePageSizes: [],
  swapControllerAvailable: false,
  swapBytes: 0,
  thermalThrottlePaths: [],
  cpuCount: 2,
  pageSize: 4096,
  appArmorEnabled: false,
  seLinuxEnabled: false,
  kernel: { major: 6, minor: 1 },
};
