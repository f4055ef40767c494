import type { Selection } from '../api-server.ts';
import { isMap } from '../patch-value.ts';
import { badRequest } from './api-errors.ts';
import { resourceFacts } from './resource-facts.ts';
import type { WireObject } from './wire-object.ts';

/** Resources without field selectors of their own, for which the server's error message differs. */
const KNOWN_BY_NAME_ONLY: ReadonlySet<Selection['resource']> = new Set([
  'leases',
  'configmaps',
  'serviceaccounts',
  'runtimeclasses',
  'volumeattachments',
  'csidrivers',
  'csinodes',
  'resourceclaims',
]);

/** Whether an object is selected. */
export type Matches = (object: WireObject) => boolean;

/** Compiles a selection. Throws for fields that the server does not support. */
export function selectObjects({ resource, namespace, fieldSelector = '' }: Selection): Matches {
  const terms = fieldSelector
    .split(',')
    .filter((term) => term !== '')
    .map(parseTerm);
  for (const { field } of terms) {
    if (!resourceFacts(resource).selectableFields.includes(field)) throw unknownField(resource, field);
  }
  return (object) =>
    (namespace === undefined || namespace === '' || object.metadata.namespace === namespace) &&
    terms.every(({ field, value, isEqual }) => (fieldText(object, field) === value) === isEqual);
}

interface Term {
  readonly field: string;
  readonly value: string;
  readonly isEqual: boolean;
}

function parseTerm(term: string): Term {
  const match = /^(.+?)(!=|==|=)(.*)$/.exec(term);
  if (!match) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`);
  const [, field = '', operator, value = ''] = match;
  return { field, value, isEqual: operator !== '!=' };
}

function unknownField(resource: Selection['resource'], field: string) {
  return KNOWN_BY_NAME_ONLY.has(resource)
    ? badRequest(`"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`)
    : badRequest(`field label not supported: ${field}`);
}

/** An absent field is the empty string, an absent boolean is false. */
function fieldText(object: WireObject, path: string): string {
  let value: unknown = object;
  for (const part of path.split('.')) value = isMap(value) ? value[part] : undefined;
  if (path === 'spec.unschedulable') return String(value ?? false);
  return typeof value === 'string' ? value : '';
}
