import { CriError } from '../../cri/cri-error.ts';
import { invalidField } from '../../cri/field-error.ts';
import type { LinuxContainerSecurityContext } from '../../cri/generated/runtime-v1.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { MINIMAL_SECCOMP_PROFILE } from './minimal-seccomp-profile.ts';
import { parseSeccompProfile } from './parse-seccomp-profile.ts';
import { profileChoice } from './security-profile.ts';
import type { SeccompProfile } from './spec-facts.ts';
import type { SpecMachine } from './spec-request.ts';

const FIELD = 'linux.security_context.seccomp';

type SeccompContext = Pick<LinuxContainerSecurityContext, 'privileged' | 'seccomp' | 'seccompProfilePath'>;

export interface SeccompSources {
  readonly fs: FileSystem;
  readonly runtimeDefault: () => Promise<SeccompProfile>;
}

/** Returns a function that reads the `RuntimeDefault` profile on first use and caches it. */
export function cachedDefaultProfile(path: string, fs: FileSystem): () => Promise<SeccompProfile> {
  let reading: Promise<SeccompProfile> | undefined;
  return () => {
    reading ??= readDefaultProfile(path, fs).catch((error: unknown) => {
      reading = undefined; // a repaired file takes effect without a restart
      throw error;
    });
    return reading;
  };
}

/** Returns the profile of a container or a pause container; `undefined`: none. */
export async function loadSeccompProfile(
  context: SeccompContext | undefined,
  { seccomp }: Pick<SpecMachine, 'seccomp'>,
  { fs, runtimeDefault }: SeccompSources,
): Promise<SeccompProfile | undefined> {
  const older = { field: `${FIELD}_profile_path`, value: context?.seccompProfilePath ?? '' };
  const choice = profileChoice(FIELD, context?.seccomp, older);
  if (context?.privileged || choice.kind === 'unset' || choice.kind === 'unconfined') return undefined;
  if (!seccomp) throw invalidField(FIELD, 'seccomp is not supported');
  if (choice.kind === 'runtimeDefault') return runtimeDefault();
  if (!choice.name.startsWith('/')) {
    throw invalidField(`${FIELD}.localhost_ref`, `${JSON.stringify(choice.name)} is not absolute`);
  }
  try {
    return parseSeccompProfile(await fs.readText(choice.name));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const message = `cannot load seccomp profile ${JSON.stringify(choice.name)}: ${why}`;
    throw invalidField(`${FIELD}.localhost_ref`, message, { cause: error });
  }
}

async function readDefaultProfile(path: string, fs: FileSystem): Promise<SeccompProfile> {
  try {
    return parseSeccompProfile(await fs.readText(path));
  } catch (error) {
    if (error instanceof FileSystemError && error.code === 'ENOENT') return MINIMAL_SECCOMP_PROFILE;
    const why = error instanceof Error ? error.message : String(error);
    throw new CriError('Internal', `cannot load seccomp profile ${path}: ${why}`, { cause: error });
  }
}
