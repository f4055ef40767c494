import { Buffer } from 'node:buffer';
import type { DownwardAPIVolumeFile, Pod, ResourceFieldSelector } from '../../api/generated/core-v1.ts';
import type { ResourceList } from '../../api/pod-resources.ts';
import { errorText } from '../../base/error-text.ts';
import { podFieldText } from '../sync/config/pod-field.ts';
import { resourceFieldText } from '../sync/config/resource-field.ts';
import type { VolumeContent, VolumeFile } from './volume-content.ts';

/**
 * Pod fields that kubelet supports in files. Fields that are known only later are supported in environment variables.
 */
const FIELDS = /^metadata\.(?:name|namespace|uid|(?:labels|annotations)(?:\['.*'\])?)$/s;

export interface DownwardContext {
  readonly pod: Pod;
  /** The node's allocatable resources: shown for limits that a container does not set. */
  readonly allocatable: ResourceList;
}

/**
 * The files of a downward API source. Throws an `AggregateError` of kubelet's messages for fields that are not
 * available.
 */
export function downwardContent(
  items: readonly DownwardAPIVolumeFile[],
  defaultMode: number,
  context: DownwardContext,
): VolumeContent {
  const files = new Map<string, VolumeFile>();
  const errors: unknown[] = [];
  for (const item of items) {
    try {
      files.set(item.path, { data: Buffer.from(fileText(item, context)), mode: item.mode ?? defaultMode });
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, errors.map(errorText).join(', '));
  return files;
}

function fileText({ fieldRef, resourceFieldRef }: DownwardAPIVolumeFile, context: DownwardContext): string {
  if (fieldRef) return fieldText(fieldRef.fieldPath, context.pod);
  return resourceFieldRef ? resourceText(resourceFieldRef, context) : '';
}

function fieldText(path: string, pod: Pod): string {
  if (!FIELDS.test(path)) throw new Error(`unsupported fieldPath: ${path}`);
  return podFieldText(path, { pod, podIPs: [], hostIPs: [] });
}

/** Unlike for environment variables, pod-level limits are ignored. */
function resourceText(selector: ResourceFieldSelector, { pod, allocatable }: DownwardContext): string {
  const { containerName = '' } = selector;
  const { containers, initContainers = [] } = pod.spec;
  const container = [...containers, ...initContainers].find(({ name }) => name === containerName);
  if (!container) throw new Error(`container ${containerName} not found`);
  const alone = { ...pod, spec: { ...pod.spec, resources: undefined } };
  return resourceFieldText({ ...selector, containerName: '' }, { pod: alone, container, allocatable });
}
