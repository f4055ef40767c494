export interface Platform {
  readonly os: string;
  /** Go's name: `amd64`. */
  readonly architecture: string;
  /** `v7` */
  readonly variant: string;
  /** Required `os.features`; none are known on Linux. */
  readonly features: readonly string[];
}

/**
 * Ranks how well an image for this platform runs here, best first; `undefined` if not at all. As in containerd, a
 * machine also runs images for older variants of its architecture, and OS versions matter only on Windows.
 */
export function platformRank(platform: Platform, architecture: string): number | undefined {
  const { os, name } = normalized(platform);
  const rank = runnable(architecture).indexOf(name);
  return os === 'linux' && platform.features.length === 0 && rank >= 0 ? rank : undefined;
}

/** Returns `linux/arm/v7` for a message. */
export function platformText({ os, architecture, variant }: Platform): string {
  return [os, architecture, variant].filter((part) => part !== '').join('/');
}

const ARM = ['arm/v7', 'arm/v6', 'arm/v5'];

function runnable(architecture: string): readonly string[] {
  if (architecture === 'amd64') return ['amd64', '386'];
  if (architecture === 'arm64') return ['arm64', 'arm/v8', ...ARM];
  if (architecture === 'arm') return ARM; // Node.js requires at least ARMv7
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

/** Variants that are the default of their architecture. */
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
