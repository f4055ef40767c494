import { invalidField } from '../../cri/field-error.ts';
import type { OciLinux, OciProcess, OciSpec } from '../oci/oci-spec.ts';
import { containerAnnotations } from './annotations.ts';
import { appArmorProfile } from './apparmor.ts';
import { applyCdiEdits } from './apply-cdi-edits.ts';
import { containerCapabilities } from './capabilities.ts';
import { cgroupPath } from './cgroup-path.ts';
import { containerDevices } from './devices.ts';
import { containerEnvironment } from './environment.ts';
import { containerMounts } from './mounts.ts';
import { containerNamespaces } from './namespaces.ts';
import { containerOomScore } from './oom-score.ts';
import { checkRequest } from './request-rules.ts';
import { containerResources } from './resources.ts';
import { applySeccompProfile } from './seccomp.ts';
import { type SelinuxLabels, selinuxLabels } from './selinux.ts';
import type { SpecFacts } from './spec-facts.ts';
import type { SpecRequest } from './spec-request.ts';
import { containerUser } from './user.ts';

export const OCI_VERSION = '1.0.2';

/** Throws `CriError` that names the field for anything unsupported. */
export function buildContainerSpec(request: SpecRequest, facts: SpecFacts): OciSpec {
  checkRequest(request);
  const labels = containerLabels(request);
  const process = containerProcess(request, facts, labels);
  const { mounts, rootfsPropagation } = containerMounts(request, facts);
  const hooks = request.handler.baseSpec?.hooks;
  const spec: OciSpec = {
    ociVersion: OCI_VERSION,
    process,
    root: { path: request.rootfs, readonly: request.container.linux?.securityContext?.readonlyRootfs === true },
    mounts,
    ...(hooks && { hooks }),
    annotations: containerAnnotations(request),
    linux: {
      ...containerLinux(request, facts, process),
      ...(rootfsPropagation && { rootfsPropagation }),
      ...(labels && { mountLabel: labels.mountLabel }),
    },
  };
  return applyCdiEdits(spec, facts.cdi);
}

function containerLabels({ container, sandbox, sandboxId, machine }: SpecRequest): SelinuxLabels | undefined {
  const context = container.linux?.securityContext;
  const ofSandbox = sandbox.linux?.securityContext?.selinuxOptions;
  const enabled = machine.selinux && !context?.privileged;
  return selinuxLabels(context?.selinuxOptions, ofSandbox, { sandboxId, enabled });
}

function containerProcess(request: SpecRequest, facts: SpecFacts, labels: SelinuxLabels | undefined): OciProcess {
  const { container, machine, handler } = request;
  const context = container.linux?.securityContext;
  const resources = container.linux?.resources;
  const privileged = context?.privileged === true;
  const profile = appArmorProfile(context, facts.appArmor);
  return {
    terminal: container.tty,
    user: containerUser(request, facts.accounts),
    args: containerCommand(request),
    env: containerEnvironment(request),
    cwd: workingDirectory(request),
    capabilities: containerCapabilities(context?.capabilities, { privileged, available: machine.capabilities }),
    // The limits of this process, as with containerd: the operator sets them for all containers with LimitNOFILE= of
    // the service. The soft limit of open files equals the hard one: Node.js raised it at start-up, and a fixed number
    // would override the operator's setting. The base spec of the handler and NRI plugins can set others.
    rlimits: handler.baseSpec?.rlimits ?? [],
    noNewPrivileges: context?.noNewPrivs === true,
    ...(profile !== undefined && { apparmorProfile: profile }),
    ...(labels && { selinuxLabel: labels.selinuxLabel }),
    ...(resources && { oomScoreAdj: containerOomScore(resources.oomScoreAdj, machine) }),
  };
}

function containerLinux(request: SpecRequest, facts: SpecFacts, { capabilities }: OciProcess): OciLinux {
  const { container, sandbox, id, machine, handler } = request;
  const context = container.linux?.securityContext;
  const { devices, rules } = containerDevices(request, facts);
  return {
    ...containerNamespaces(request),
    devices,
    cgroupsPath: cgroupPath(sandbox, id, handler.cgroupDriver ?? machine.cgroupDriver),
    resources: containerResources(container.linux?.resources, rules, machine),
    ...(facts.seccomp && { seccomp: applySeccompProfile(facts.seccomp, capabilities.bounding, machine) }),
    maskedPaths: context?.privileged ? [] : (context?.maskedPaths ?? []),
    readonlyPaths: context?.privileged ? [] : (context?.readonlyPaths ?? []),
  };
}

/** A command of the container replaces the image's entrypoint and cmd; arguments alone replace its cmd. */
function containerCommand({ container, image, imageName }: SpecRequest): string[] {
  const { command, args } = container;
  if (command.length > 0) return [...command, ...args];
  // Some tools write an entrypoint of one empty string for none.
  const entrypoint = image.entrypoint.length === 1 && image.entrypoint[0] === '' ? [] : image.entrypoint;
  const argv = [...entrypoint, ...(args.length > 0 ? args : image.cmd)];
  if (argv.length > 0) return argv;
  throw invalidField('command', `no command specified, and image ${imageName} has none`);
}

function workingDirectory({ container, image }: SpecRequest): string {
  return container.workingDir || image.workingDir || '/';
}
