import { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from '../../base/name-syntax.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type {
  LabelSelector,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimTemplate,
  Quantity,
  TypedObjectReference,
} from '../generated/core-v1.ts';
import { type FieldErrors, forbidden, invalid, invalidFor, notSupported, oneOf, required } from './field-error.ts';
import { validateAnnotations, validateLabels, validateObjectMeta } from './validate-metadata.ts';

/** In the order in which the API server lists them. */
const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const VOLUME_MODES = ['Block', 'Filesystem'];

/** Everything that the API server would refuse a new PersistentVolumeClaim for. */
export function* validateClaim({ metadata, spec }: PersistentVolumeClaim): FieldErrors {
  yield* validateObjectMeta(metadata, 'namespaced');
  yield* validateClaimSpec('spec', spec);
}

/** The template of the claim that is created for a generic ephemeral volume. */
export function* validateClaimTemplate(path: string, template: PersistentVolumeClaimTemplate): FieldErrors {
  const { annotations, labels, ...others } = template.metadata ?? {};
  yield* validateAnnotations(`${path}.metadata.annotations`, annotations);
  yield* validateLabels(`${path}.metadata.labels`, labels);
  for (const [field, value] of Object.entries(others)) {
    if (value !== undefined && value !== '') yield forbidden(`${path}.metadata.${field}`, 'cannot be set');
  }
  yield* validateClaimSpec(`${path}.spec`, template.spec);
}

function* validateClaimSpec(path: string, spec: PersistentVolumeClaimSpec): FieldErrors {
  const { accessModes = [], selector, resources, storageClassName, volumeMode, dataSource, dataSourceRef } = spec;
  if (accessModes.length === 0) yield required(`${path}.accessModes`, 'at least 1 access mode is required');
  if (selector) yield* validateSelector(`${path}.selector`, selector);
  yield* validateAccessModes(`${path}.accessModes`, accessModes);
  const storage = resources?.requests?.['storage'];
  if (storage === undefined) yield required(`${path}.resources[storage]`);
  else yield* positive(`${path}.resources[storage]`, storage);
  yield* validateClassName(`${path}.storageClassName`, storageClassName);
  yield* validateVolumeMode(`${path}.volumeMode`, volumeMode);
  if (dataSource) yield* validateDataSource(`${path}.dataSource`, dataSource);
  if (dataSourceRef) yield* validateDataSource(`${path}.dataSourceRef`, dataSourceRef);
  yield* compareDataSources(path, spec);
  yield* validateClassName(`${path}.volumeAttributesClassName`, spec.volumeAttributesClassName);
}

export function* validateAccessModes(path: string, modes: readonly string[]): FieldErrors {
  for (const mode of modes) if (!ACCESS_MODES.includes(mode)) yield notSupported(path, mode, ACCESS_MODES);
  const others = modes.filter((mode) => mode !== 'ReadWriteOncePod' && ACCESS_MODES.includes(mode));
  if (modes.includes('ReadWriteOncePod') && others.length > 0) {
    yield forbidden(path, 'may not use ReadWriteOncePod with other access modes');
  }
}

export function* validateVolumeMode(path: string, mode: string | undefined): FieldErrors {
  if (mode !== undefined) yield* oneOf(path, mode, VOLUME_MODES);
}

/** Of a StorageClass or VolumeAttributesClass. */
export function* validateClassName(path: string, name: string | undefined): FieldErrors {
  if (name) yield* invalidFor(path, name, dnsSubdomainErrors(name));
}

export function* positive(path: string, quantity: Quantity): FieldErrors {
  const parsed = parseQuantity(quantity);
  if (parsed.isNegative() || parsed.isZero()) yield invalid(path, parsed.toString(), 'must be greater than zero');
}

function* validateSelector(path: string, { matchLabels, matchExpressions = [] }: LabelSelector): FieldErrors {
  yield* validateLabels(`${path}.matchLabels`, matchLabels);
  for (const [index, { key, operator, values = [] }] of matchExpressions.entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0) {
        yield required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
      }
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0) {
        yield forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
      }
    } else {
      yield invalid(`${at}.operator`, operator, 'not a valid selector operator');
    }
    yield* invalidFor(`${at}.key`, key, qualifiedNameErrors(key));
    for (const [each, value] of values.entries()) {
      yield* invalidFor(`${at}.values[${each}]`, value, labelValueErrors(value));
    }
  }
}

function* validateDataSource(path: string, source: TypedObjectReference): FieldErrors {
  const { apiGroup = '', kind, name, namespace } = source;
  if (!name) yield required(`${path}.name`);
  if (!kind) yield required(`${path}.kind`);
  if (apiGroup === '' && kind !== 'PersistentVolumeClaim') {
    yield invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  }
  if (apiGroup !== '') yield* invalidFor(`${path}.apiGroup`, apiGroup, dnsSubdomainErrors(apiGroup));
  if (namespace) yield* invalidFor(`${path}.namespace`, namespace, dnsLabelErrors(namespace));
}

/** The API server shows the path as the value, without quotes. */
function* compareDataSources(path: string, { dataSource, dataSourceRef }: PersistentVolumeClaimSpec): FieldErrors {
  if (!dataSource || !dataSourceRef) return;
  if (dataSourceRef.namespace) {
    const detail = `${path}.dataSource: may not be specified when dataSourceRef.namespace is specified`;
    return yield invalid(path, undefined, detail);
  }
  const isSame = (['apiGroup', 'kind', 'name'] as const).every((field) => dataSource[field] === dataSourceRef[field]);
  if (!isSame) yield invalid(path, undefined, `${path}.dataSource: must match dataSourceRef`);
}
