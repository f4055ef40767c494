import { invalidField } from '../../cri/field-error.ts';
import type { LinuxContainerSecurityContext } from '../../cri/generated/runtime-v1.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { DEFAULT_SECCOMP_PROFILE } from './default-seccomp-profile.ts';
import { parseSeccompProfile } from './parse-seccomp-profile.ts';
import { profileChoice } from './security-profile.ts';
import type { SeccompProfile } from './spec-facts.ts';
import type { SpecMachine } from './spec-request.ts';

const FIELD = 'linux.security_context.seccomp';

type SeccompContext = Pick<LinuxContainerSecurityContext, 'privileged' | 'seccomp' | 'seccompProfilePath'>;

/** Returns the profile of a container or a pause container; `undefined`: none. */
export async function loadSeccompProfile(
  context: SeccompContext | undefined,
  { seccomp }: Pick<SpecMachine, 'seccomp'>,
  fs: Pick<FileSystem, 'readText'>,
): Promise<SeccompProfile | undefined> {
  const older = { field: `${FIELD}_profile_path`, value: context?.seccompProfilePath ?? '' };
  const choice = profileChoice(FIELD, context?.seccomp, older);
  if (context?.privileged || choice.kind === 'unset' || choice.kind === 'unconfined') return undefined;
  if (!seccomp) throw invalidField(FIELD, 'seccomp is not supported');
  if (choice.kind === 'runtimeDefault') return DEFAULT_SECCOMP_PROFILE;
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
