import { dnsLabelErrors, dnsSubdomainErrors } from '../../base/name-syntax.ts';
import { containersWithPath } from '../containers-with-path.ts';
import type { Pod, PodSpec } from '../generated/core-v1.ts';
import {
  duplicate,
  type FieldError,
  type FieldErrors,
  forbidden,
  invalid,
  invalidFor,
  notFound,
  required,
  requiredOneOf,
} from './field-error.ts';
import {
  imageWithoutSpace,
  validateContainers,
  validateEphemeralContainers,
  validateInitContainers,
} from './validate-container.ts';
import { validateLabels, validateMetadata } from './validate-metadata.ts';
import {
  validateClassNames,
  validateDns,
  validateGates,
  validateHostAliases,
  validateHostnameOverride,
  validateNames,
  validateOs,
  validateTolerations,
} from './validate-pod-settings.ts';
import { hostNetworkPorts } from './validate-ports.ts';
import { tokensNeedAccount } from './validate-projected.ts';
import { validateContainerResources, validatePodResources } from './validate-resources.ts';
import { validateHostUsers, validatePodSecurity } from './validate-security.ts';
import { validateVolumes } from './validate-volumes.ts';

/**
 * Everything that the API server would refuse a new pod for, in its words; `formatFieldError` puts them together. The
 * pod has its defaults. Not looked at: affinity and topology spread (there is one node), Windows options, the old
 * seccomp and AppArmor annotations, and members of volume types that need a cluster's storage.
 */
export function validatePod(pod: Pod): FieldError[] {
  return [...validate(pod)];
}

function* validate(pod: Pod): FieldErrors {
  yield* validateMetadata(pod);
  yield* validateSpec(pod);
  yield* tokensNeedAccount(pod);
  for (const { path, container } of containersWithPath({ ...pod.spec, ephemeralContainers: [] })) {
    yield* imageWithoutSpace(path, container);
  }
  if ((pod.spec.ephemeralContainers ?? []).length > 0) {
    yield forbidden('spec.ephemeralContainers', 'cannot be set on create');
  }
}

function* validateSpec(pod: Pod): FieldErrors {
  const { spec } = pod;
  if (spec.terminationGracePeriodSeconds === undefined) yield required('spec.terminationGracePeriodSeconds');
  const volumes = yield* validateVolumes(pod);
  yield* validateClaims(spec);
  yield* validateContainers({ spec, volumes });
  yield* validateInitContainers({ spec, volumes });
  yield* validateEphemeralContainers({ spec, volumes });
  yield* validatePodResources(spec, claimNames(spec));
  yield* hostNetworkPorts(spec);
  yield* requiredOneOf('spec.restartPolicy', spec.restartPolicy, ['Always', 'OnFailure', 'Never']);
  yield* requiredOneOf('spec.dnsPolicy', spec.dnsPolicy, [
    'ClusterFirstWithHostNet',
    'ClusterFirst',
    'Default',
    'None',
  ]);
  yield* validateLabels('spec.nodeSelector', spec.nodeSelector);
  yield* validatePodSecurity(spec);
  yield* validateDns(spec);
  yield* validateGates(spec);
  yield* validateHostUsers(spec);
  yield* validateHostnameOverride(spec);
  yield* validateNames(spec);
  yield* validateTolerations(spec);
  yield* validateHostAliases(spec);
  yield* validateClassNames(spec);
  if (spec.overhead) yield* validateContainerResources('spec.overhead', { limits: spec.overhead }, []);
  yield* validateOs(spec);
  yield* validateFileKeyVolumes(spec);
}

function claimNames({ resourceClaims = [] }: PodSpec): string[] {
  return resourceClaims.map(({ name }) => name).filter((name) => name !== '');
}

function* validateClaims({ resourceClaims = [] }: PodSpec): FieldErrors {
  const names = new Set<string>();
  for (const [index, claim] of resourceClaims.entries()) {
    const path = `spec.resourceClaims[${index}]`;
    const { name, resourceClaimName, resourceClaimTemplateName } = claim;
    if (name === '') yield required(`${path}.name`);
    else if (names.has(name)) yield duplicate(`${path}.name`, name);
    else yield* invalidFor(`${path}.name`, name, dnsLabelErrors(name));
    names.add(name);
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) {
      yield invalid(path, claim, 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified');
    }
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
      yield invalid(path, claim, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`');
    }
    for (const field of ['resourceClaimName', 'resourceClaimTemplateName'] as const) {
      const other = claim[field];
      if (other !== undefined) yield* invalidFor(`${path}.${field}`, other, dnsSubdomainErrors(other));
    }
  }
}

/** Environment files are read from empty directories, which only the pod itself fills. */
function* validateFileKeyVolumes(spec: PodSpec): FieldErrors {
  for (const { path, container } of containersWithPath(spec)) {
    for (const [index, { valueFrom }] of (container.env ?? []).entries()) {
      const name = valueFrom?.fileKeyRef?.volumeName;
      if (name === undefined) continue;
      const at = `${path}.env[${index}].valueFrom.fileKeyRef.volumeName`;
      const volume = spec.volumes?.find((candidate) => candidate.name === name);
      if (!volume) yield notFound(at, name);
      else if (!volume.emptyDir) yield invalid(at, name, 'referenced volume must be of type emptyDir');
    }
  }
}
