import type { LinuxSandboxSecurityContext } from '../../cri/generated/runtime-v1.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { OciRuntimes } from '../oci/oci-runtime.ts';
import { DEFAULT_HANDLER } from '../settings/runtime-settings.ts';
import { buildPauseSpec } from '../spec/pause-spec.ts';
import type { SeccompProfile } from '../spec/spec-facts.ts';
import type { SpecMachine } from '../spec/spec-request.ts';
import { mapOwner } from '../storage/map-owner.ts';
import type { PreparePause } from './pause.ts';

export interface PreparePauseDeps {
  readonly fs: Pick<FileSystem, 'makeDirectory' | 'changeOwner' | 'writeFile'>;
  readonly machine: SpecMachine;
  readonly pauseProgram: string;
  readonly runtimes: Pick<OciRuntimes, 'handlers'>;
  /** `loadSeccompProfile` */
  readonly seccomp: (context: LinuxSandboxSecurityContext | undefined) => Promise<SeccompProfile | undefined>;
}

export function preparePause({ fs, machine, pauseProgram, runtimes, seccomp }: PreparePauseDeps): PreparePause {
  return async ({ record, role, bundle }) => {
    const { id, config, namespaces, runtimeHandler } = record;
    const handler = runtimes.handlers.find(({ name }) => name === runtimeHandler);
    const { network, ipc, uts } = namespaces;
    const rootfs = `${bundle}/rootfs`;
    const profile = await seccomp(config.linux?.securityContext);
    const spec = buildPauseSpec({
      sandboxId: id,
      config,
      rootfs,
      pauseProgram,
      pinned: role === 'creates' ? {} : { ...(network && { network }), ...(ipc && { ipc }), ...(uts && { uts }) },
      machine,
      handler: handler?.settings ?? DEFAULT_HANDLER,
      ...(profile && { seccomp: profile }),
    });
    // Root of the user namespace must be able to reach `rootfs`.
    await fs.makeDirectory(bundle, 0o711);
    await fs.makeDirectory(rootfs, 0o755);
    if (namespaces.user !== undefined) {
      const { uid, gid } = mapOwner({ uid: 0, gid: 0 }, namespaces.user.idMap);
      await fs.changeOwner(rootfs, uid, gid); // the OCI runtime creates mount points in it
    }
    await fs.writeFile(`${bundle}/config.json`, JSON.stringify(spec), { mode: 0o600 });
  };
}
