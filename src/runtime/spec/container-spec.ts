import type { OciLinux, OciProcess, OciSpec } from '../oci/oci-spec.ts';
import { containerAnnotations } from './annotations.ts';
import { appArmorProfile } from './apparmor.ts';
import { applyCdiEdits } from './apply-cdi-edits.ts';
import { containerCapabilities } from './capabilities.ts';
import { cgroupPath } from './cgroup-path.ts';
import { containerCommand, workingDirectory } from './command.ts';
import { containerDevices } from './devices.ts';
import { containerEnvironment } from './environment.ts';
import { containerMounts } from './mounts.ts';
import { containerNamespaces } from './namespaces.ts';
import { containerOomScore } from './oom-score.ts';
import { checkRequest } from './request-rules.ts';
import { containerResources } from './resources.ts';
import { seccompFor } from './seccomp.ts';
import { type SelinuxLabels, selinuxLabels } from './selinux.ts';
import type { SpecFacts } from './spec-facts.ts';
import type { SpecRequest } from './spec-request.ts';
import { containerUser } from './user.ts';

export const OCI_VERSION = '1.0.2';

/** Throws a `CriError` that names the field for whatever cannot be had. */
export function containerSpec(request: SpecRequest, facts: SpecFacts): OciSpec {
  checkRequest(request);
  const labels = labelsOf(request);
  const process = processOf(request, facts, labels);
  const { mounts, rootfsPropagation } = containerMounts(request, facts);
  const spec: OciSpec = {
    ociVersion: OCI_VERSION,
    process,
    root: { path: request.rootfs, readonly: request.container.linux?.securityContext?.readonlyRootfs === true },
    mounts,
    annotations: containerAnnotations(request),
    linux: {
      ...linuxOf(request, facts, process),
      ...(rootfsPropagation && { rootfsPropagation }),
      ...(labels && { mountLabel: labels.mountLabel }),
    },
  };
  return applyCdiEdits(spec, facts.cdi);
}

function labelsOf({ container, sandbox, sandboxId, machine }: SpecRequest): SelinuxLabels | undefined {
  const context = container.linux?.securityContext;
  const ofSandbox = sandbox.linux?.securityContext?.selinuxOptions;
  const enabled = machine.selinux && !context?.privileged;
  return selinuxLabels(context?.selinuxOptions, ofSandbox, { sandboxId, enabled });
}

function processOf(request: SpecRequest, facts: SpecFacts, labels: SelinuxLabels | undefined): OciProcess {
  const { container, machine } = request;
  const context = container.linux?.securityContext;
  const resources = container.linux?.resources;
  const privileged = context?.privileged === true;
  const profile = appArmorProfile(context, machine.appArmor ? facts.appArmorProfiles : undefined);
  return {
    terminal: container.tty,
    user: containerUser(request, facts.accounts),
    args: containerCommand(request),
    env: containerEnvironment(request),
    cwd: workingDirectory(request),
    capabilities: containerCapabilities(context?.capabilities, { privileged, available: machine.capabilities }),
    // Those of this process, as below containerd: LimitNOFILE= of the service is the operator's word on all containers. But
    // the soft limit of open files is the hard one: Node.js has raised it before we could see what it was, and a number of
    // our own would take away what an operator gave. Plugins of NRI can set another.
    rlimits: [],
    noNewPrivileges: context?.noNewPrivs === true,
    ...(profile !== undefined && { apparmorProfile: profile }),
    ...(labels && { selinuxLabel: labels.selinuxLabel }),
    ...(resources && { oomScoreAdj: containerOomScore(resources.oomScoreAdj, machine) }),
  };
}

function linuxOf(request: SpecRequest, facts: SpecFacts, { capabilities }: OciProcess): OciLinux {
  const { container, sandbox, id, machine } = request;
  const context = container.linux?.securityContext;
  const { devices, rules } = containerDevices(request, facts);
  return {
    ...containerNamespaces(request),
    devices,
    cgroupsPath: cgroupPath(sandbox, id),
    resources: containerResources(container.linux?.resources, rules, machine),
    ...(facts.seccomp && { seccomp: seccompFor(facts.seccomp, capabilities.bounding, machine) }),
    maskedPaths: context?.privileged ? [] : (context?.maskedPaths ?? []),
    readonlyPaths: context?.privileged ? [] : (context?.readonlyPaths ?? []),
  };
}
