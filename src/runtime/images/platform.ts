export interface Platform {
  readonly os: string;
  /** As Go names it: `amd64`. */
  readonly architecture: string;
  /** `v7` */
  readonly variant: string;
  /** What it needs beside the kernel; none of that is known on Linux. */
  readonly features: readonly string[];
}

/**
 * How well an image for this platform runs here, best first; `undefined`: not at all. As in containerd: a machine also runs
 * what older ones of its kind do, and versions of the operating system count only on Windows.
 */
export function platformRank(platform: Platform, architecture: string): number | undefined {
  const { os, name } = normalized(platform);
  const rank = runnable(architecture).indexOf(name);
  return os === 'linux' && platform.features.length === 0 && rank >= 0 ? rank : undefined;
}

/** `linux/arm/v7`, for a message. */
export function platformText({ os, architecture, variant }: Platform): string {
  return [os, architecture, variant].filter((part) => part !== '').join('/');
}

const ARM = ['arm/v7', 'arm/v6', 'arm/v5'];

function runnable(architecture: string): readonly string[] {
  if (architecture === 'amd64') return ['amd64', '386'];
  if (architecture === 'arm64') return ['arm64', 'arm/v8', ...ARM];
  if (architecture === 'arm') return ARM; // what Node.js needs to run at all
  return [architecture];
}

const ARCHITECTURES: Readonly<Record<string, string>> = {
  i386: '386',
  x86_64: 'amd64',
  'x86-64': 'amd64',
  aarch64: 'arm64',
  armhf: 'arm',
  armel: 'arm',
};

/** Variants that go without saying. */
const PLAIN: Readonly<Record<string, readonly string[]>> = {
  '386': [''],
  amd64: ['', 'v1'],
  arm64: ['', '8', 'v8', 'v8.0'],
};

function normalized(platform: Platform): { readonly os: string; readonly name: string } {
  const given = platform.architecture.toLowerCase();
  const architecture = ARCHITECTURES[given] ?? given;
  const variant = given === 'armel' ? 'v6' : given === 'armhf' ? 'v7' : platform.variant.toLowerCase();
  const os = platform.os === '' ? 'linux' : platform.os.toLowerCase();
  if (architecture === 'arm') return { os, name: `arm/${variant === '' ? 'v7' : variant.replace(/^(\d)$/, 'v$1')}` };
  const isPlain = given === 'i386' || (PLAIN[architecture] ?? ['']).includes(variant);
  return { os, name: isPlain ? architecture : `${architecture}/${variant}` };
}
