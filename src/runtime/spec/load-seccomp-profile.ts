import { invalidField } from '../../cri/field-error.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { LinuxContainerSecurityContext } from '../../cri/generated/runtime-v1.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { MINIMAL_SECCOMP_PROFILE } from './minimal-seccomp-profile.ts';
import { parseSeccompProfile } from './parse-seccomp-profile.ts';
import { profileChoice } from './security-profile.ts';
import type { SeccompProfile } from './spec-facts.ts';
import type { SpecMachine } from './spec-request.ts';

const FIELD = 'linux.security_context.seccomp';

type Asked = Pick<LinuxContainerSecurityContext, 'privileged' | 'seccomp' | 'seccompProfilePath'>;

export interface SeccompSources {
  readonly fs: FileSystem;
  readonly runtimeDefault: () => Promise<SeccompProfile>;
}

/** The profile of `RuntimeDefault`, read when it is wanted first and kept. */
export function runtimeDefaultSeccomp(path: string, fs: FileSystem): () => Promise<SeccompProfile> {
  let reading: Promise<SeccompProfile> | undefined;
  return () => {
    reading ??= read(path, fs).catch((error: unknown) => {
      reading = undefined; // whoever repairs the file needs no restart
      throw error;
    });
    return reading;
  };
}

/** The profile that a container or a pause container is to have; `undefined`: none. */
export async function seccompProfileFor(
  asked: Asked | undefined,
  { seccomp }: Pick<SpecMachine, 'seccomp'>,
  { fs, runtimeDefault }: SeccompSources,
): Promise<SeccompProfile | undefined> {
  const older = { field: `${FIELD}_profile_path`, value: asked?.seccompProfilePath ?? '' };
  const choice = profileChoice(FIELD, asked?.seccomp, older);
  if (asked?.privileged || choice.kind === 'unset' || choice.kind === 'unconfined') return undefined;
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

async function read(path: string, fs: FileSystem): Promise<SeccompProfile> {
  try {
    return parseSeccompProfile(await fs.readText(path));
  } catch (error) {
    if (error instanceof FileSystemError && error.code === 'ENOENT') return MINIMAL_SECCOMP_PROFILE;
    const why = error instanceof Error ? error.message : String(error);
    throw new CriError('Internal', `cannot load seccomp profile ${path}: ${why}`, { cause: error });
  }
}
