import type { ErrorCause, ResourceClaimCause } from '../pod/pod-cause.ts';
import { describeSourceError, isSourceCause } from './describe-source-error.ts';
import { missingHandler, missingSeccompProfile } from './error-texts.ts';

const OBJECT_KINDS = { configmap: 'ConfigMap', secret: 'Secret' } as const;

/** Completes `needs ResourceClaim "gpu", which …`. */
const CLAIM_STATES: Readonly<Record<ResourceClaimCause['why'], string>> = {
  notCreated: 'is not created from its template yet',
  notFound: 'does not exist',
  notAllocated: 'is not allocated',
  notReserved: 'is not reserved for this pod',
};

export interface ErrorDescription {
  readonly text: string;
  /** A sentence that says what would fix it. */
  readonly help?: string | undefined;
}

export interface SummarizedError extends ErrorDescription {
  /** Completes `hello is not ready: …`. */
  readonly summary: string;
}

/**
 * Describes why a container or a volume cannot be set up; the text completes `container web …` and `volume "v" …`.
 * Returns `undefined` for errors whose own text is plain enough.
 */
export function describeConfigError(cause: ErrorCause | undefined, error: string): ErrorDescription | undefined {
  if (isSourceCause(cause)) return describeSourceError(cause);
  switch (cause?.kind) {
    case 'objectNotFound':
      return { text: `needs ${OBJECT_KINDS[cause.object]} "${cause.name}", which does not exist` };
    case 'objectNotSynced':
      return { text: `needs a ${OBJECT_KINDS[cause.object]}, and the API server has not answered yet` };
    case 'keyNotFound': {
      const name = cause.name.includes('/') ? cause.name : `"${cause.name}"`;
      return { text: `needs key "${cause.key}" of ${OBJECT_KINDS[cause.object]} ${name}, which does not have it` };
    }
    case 'claimNotReady':
      return { text: `needs PersistentVolumeClaim "${cause.claim}", which is not ready: ${cause.error}` };
    case 'csiDriverNotRegistered': {
      const help =
        'A CSI driver registers through a socket in plugins_registry; its node plugin has to run on this node.';
      return { text: `needs the CSI driver "${cause.driver}", which is not registered on this node`, help };
    }
    case 'resourceClaimNotReady':
      return { text: `needs ResourceClaim "${cause.claim}", which ${CLAIM_STATES[cause.why]}` };
    case 'draDriverNotRegistered': {
      const help =
        'A DRA driver registers through a socket in plugins_registry; its kubelet plugin has to run on this node.';
      return { text: `needs the DRA driver "${cause.driver}", which is not registered on this node`, help };
    }
    case 'volumeNotAttached': {
      const { persistentVolume: name, isReported } = cause;
      return isReported
        ? { text: `waits until the attach-detach controller attaches ${name}` }
        : { text: `waits until the API server has ${name} in the volumesInUse of the node` };
    }
    case 'volumeOfOtherNode':
    case 'programMissing':
    case 'serverNotResponding':
      return describeStorageError(cause);
    case 'volumeFailed': {
      const known = describeConfigError(cause.cause, error);
      return known && { ...known, text: `needs volume "${cause.volume}", which ${known.text}` };
    }
    case 'servicesNotSynced':
      return { text: 'needs the variables of services, and the API server has not answered yet' };
    case 'envFileInvalid':
      return { text: "takes variables from a file that is missing, or has other lines than NAME='value'" };
    case 'runsAsRoot':
    case 'userNotNumeric':
      return describeUserError(cause);
    case 'subPathFailed': {
      const help = 'Its path has a file or a link out of the volume in it, or cannot be written.';
      return { text: `cannot have its subPath of volume "${cause.volume}"`, help };
    }
    default: {
      const profile = missingSeccompProfile(error);
      return profile === undefined ? undefined : { text: `needs the seccomp profile ${profile}, which does not exist` };
    }
  }
}

type StorageCause = Extract<ErrorCause, { kind: 'volumeOfOtherNode' | 'programMissing' | 'serverNotResponding' }>;

function describeStorageError(cause: StorageCause): ErrorDescription {
  if (cause.kind === 'volumeOfOtherNode') {
    return { text: 'is bound to a PersistentVolume of another node', help: 'Its node affinity excludes this node.' };
  }
  if (cause.kind === 'programMissing') {
    return { text: `needs the program ${cause.program}, which is not installed on this machine` };
  }
  return { text: `is mounted from ${cause.source}, which does not answer` };
}

/** Describes a container with `runAsNonRoot` that is root, or may be. */
function describeUserError(cause: Extract<ErrorCause, { kind: 'runsAsRoot' | 'userNotNumeric' }>): ErrorDescription {
  const must = 'must not run as root (runAsNonRoot), and';
  if (cause.kind === 'userNotNumeric') {
    const text = `${must} the user "${cause.user}" of its image may be root`;
    return { text, help: 'Set its runAsUser to their number.' };
  }
  if (cause.from === 'spec') return { text: `${must} its runAsUser is 0` };
  const help = 'Set its runAsUser to a user other than 0, or use an image that names one.';
  return { text: `${must} its image does`, help };
}

/** Describes which volume cannot be prepared and why; `undefined` for errors of no single volume. */
export function describeVolumeError(cause: ErrorCause | undefined, error: string): SummarizedError | undefined {
  if (cause?.kind !== 'volumeFailed') return undefined;
  const title = `volume "${cause.volume}"`;
  const summary = `${title} cannot be prepared`;
  const known = describeConfigError(cause.cause, error);
  return known ? { summary, text: `${title} ${known.text}`, help: known.help } : { summary, text: error };
}

/** Describes which resource claim or driver the pod needs; `undefined` for all other errors. */
export function describeClaimError(cause: ErrorCause | undefined): SummarizedError | undefined {
  if (cause?.kind !== 'resourceClaimNotReady' && cause?.kind !== 'draDriverNotRegistered') return undefined;
  const known = describeConfigError(cause, '');
  return known && { ...known, text: `it ${known.text}`, summary: `it ${known.text}` };
}

/** Describes errors of a sandbox that have a known remedy; `undefined` for all others. */
export function describeSandboxError(
  cause: ErrorCause | undefined,
  error: string,
): Omit<SummarizedError, 'text'> | undefined {
  if (cause?.kind === 'networkNotReady') return { summary: 'the network of the runtime is not ready' };
  if (cause?.kind === 'runtimeClassNotFound') {
    return {
      summary: `there is no runtime class "${cause.name}"`,
      help: 'A RuntimeClass of that name has to be at the API server, or in a manifest beside the pod.',
    };
  }
  if (cause?.kind === 'userNamespacesUnsupported') {
    return {
      summary: 'the runtime does not support user namespaces',
      help: 'hostUsers: false needs a newer container runtime; containerd has it from 2.0 on.',
    };
  }
  const handler = missingHandler(error);
  if (handler === undefined) return undefined;
  return {
    summary: `the runtime has no handler "${handler}"`,
    help: "The handler of the pod's runtime class has to be in the configuration of the container runtime.",
  };
}
