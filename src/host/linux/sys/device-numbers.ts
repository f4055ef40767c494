import type { DeviceNumbers } from '../../file-system.ts';

/** As makedev(3) puts them together: both numbers are split, and the upper halves lie above bit 31. */
export function deviceNumbers(rdev: number): DeviceNumbers {
  const bits = BigInt(rdev);
  return {
    major: Number(((bits >> 8n) & 0xfffn) | ((bits >> 32n) & ~0xfffn)),
    minor: Number((bits & 0xffn) | ((bits >> 12n) & 0xffffff00n)),
  };
}
