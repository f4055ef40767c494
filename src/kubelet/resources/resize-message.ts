import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { goJson } from '../../base/go/go-json.ts';
import { requirementsText } from './resources-checkpoint.ts';

/** kubelet's event message about a resize: the requested resources in JSON. */
export function resizeMessage(what: string, { spec }: Pod, generation: number, error = ''): string {
  const fields = [
    ...listOf('initContainers', spec.initContainers),
    ...listOf('containers', spec.containers),
    `"generation":${generation}`,
    ...(error === '' ? [] : [`"error":${goJson(error)}`]),
  ];
  return `${what}: {${fields.join(',')}}`;
}

function listOf(name: string, containers: readonly Container[] = []): string[] {
  const each = containers.map(
    (container) => `{"name":${goJson(container.name)},"resources":${requirementsText(container.resources ?? {})}}`,
  );
  return each.length === 0 ? [] : [`"${name}":[${each.join(',')}]`];
}
