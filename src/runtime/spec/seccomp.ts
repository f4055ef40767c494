import type { OciSeccomp } from '../oci/oci-spec.ts';
import type { SeccompCondition, SeccompProfile } from './spec-facts.ts';
import type { SpecMachine } from './spec-request.ts';

/** Go's names, which profiles use in their conditions. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  amd64: 'SCMP_ARCH_X86_64',
  '386': 'SCMP_ARCH_X86',
  arm64: 'SCMP_ARCH_AARCH64',
  arm: 'SCMP_ARCH_ARM',
  ppc64le: 'SCMP_ARCH_PPC64LE',
  riscv64: 'SCMP_ARCH_RISCV64',
  s390x: 'SCMP_ARCH_S390X',
};

/** Returns the rules of the profile that apply to a container with these capabilities on this machine. */
export function applySeccompProfile(
  profile: SeccompProfile,
  capabilities: readonly string[],
  machine: Pick<SpecMachine, 'architecture' | 'kernel'>,
): OciSeccomp {
  const { archMap, syscalls, ...rest } = profile;
  const caps = new Set(capabilities);
  const architectures = seccompArchitectures(archMap, machine.architecture);
  return {
    ...rest,
    ...(architectures && { architectures }),
    syscalls: syscalls
      .filter(({ includes, excludes }) => isMet(includes, caps, machine) && !isExcluded(excludes, caps, machine))
      .map(({ includes: _, excludes: __, ...rule }) => rule),
  };
}

function seccompArchitectures(archMap: SeccompProfile['archMap'], architecture: string): readonly string[] | undefined {
  const entry = archMap.find((candidate) => candidate.architecture === ARCHITECTURES[architecture]);
  return entry && [entry.architecture, ...entry.subArchitectures];
}

/** All conditions must hold. */
function isMet(
  { arches, caps, minKernel }: SeccompCondition,
  has: ReadonlySet<string>,
  machine: Pick<SpecMachine, 'architecture' | 'kernel'>,
): boolean {
  if (arches.length > 0 && !arches.includes(machine.architecture)) return false;
  if (!caps.every((name) => has.has(name))) return false;
  return minKernel === '' || isAtLeast(machine.kernel, minKernel);
}

/** Any one condition suffices. */
function isExcluded(
  { arches, caps, minKernel }: SeccompCondition,
  has: ReadonlySet<string>,
  machine: Pick<SpecMachine, 'architecture' | 'kernel'>,
): boolean {
  if (arches.includes(machine.architecture) || caps.some((name) => has.has(name))) return true;
  return minKernel !== '' && isAtLeast(machine.kernel, minKernel);
}

function isAtLeast(kernel: string, required: string): boolean {
  const [major = 0, minor = 0] = parseVersion(kernel);
  const [wantedMajor = 0, wantedMinor = 0] = parseVersion(required);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

function parseVersion(text: string): number[] {
  return (/^\d+(\.\d+)?/.exec(text)?.[0] ?? '0').split('.').map(Number);
}
