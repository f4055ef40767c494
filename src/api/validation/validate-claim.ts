import { dnsLabelErrors, dnsSubdomainErrors } from '../../base/name-syntax.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type {
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimTemplate,
  TypedObjectReference,
} from '../generated/core-v1.ts';
import { type FieldErrors, forbidden, invalid, invalidFor, oneOf, required } from './field-error.ts';
import { validateAnnotations, validateLabels } from './validate-metadata.ts';

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
const VOLUME_MODES = ['Block', 'Filesystem'];

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
  yield* validateAccessModes(`${path}.accessModes`, spec.accessModes ?? []);
  yield* validateStorage(`${path}.resources[storage]`, spec);
  const { storageClassName, volumeMode, dataSource, dataSourceRef, volumeAttributesClassName } = spec;
  if (storageClassName) {
    yield* invalidFor(`${path}.storageClassName`, storageClassName, dnsSubdomainErrors(storageClassName));
  }
  if (volumeMode !== undefined) yield* oneOf(`${path}.volumeMode`, volumeMode, VOLUME_MODES);
  if (dataSource) yield* validateDataSource(`${path}.dataSource`, dataSource);
  if (dataSourceRef) yield* validateDataSource(`${path}.dataSourceRef`, dataSourceRef);
  yield* compareDataSources(path, spec);
  if (volumeAttributesClassName) {
    const messages = dnsSubdomainErrors(volumeAttributesClassName);
    yield* invalidFor(`${path}.volumeAttributesClassName`, volumeAttributesClassName, messages);
  }
}

function* validateAccessModes(path: string, modes: readonly string[]): FieldErrors {
  if (modes.length === 0) yield required(path, 'at least 1 access mode is required');
  for (const mode of modes) yield* oneOf(path, mode, ACCESS_MODES);
  const isExclusive = modes.includes('ReadWriteOncePod');
  if (isExclusive && modes.some((mode) => mode !== 'ReadWriteOncePod' && ACCESS_MODES.includes(mode))) {
    yield forbidden(path, 'may not use ReadWriteOncePod with other access modes');
  }
}

function* validateStorage(path: string, { resources }: PersistentVolumeClaimSpec): FieldErrors {
  const storage = resources?.requests?.['storage'];
  if (storage === undefined) return yield required(path);
  const amount = parseQuantity(storage);
  if (amount.isZero() || amount.isNegative()) yield invalid(path, `${amount}`, 'must be greater than zero');
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
  const isSame =
    dataSource.apiGroup === dataSourceRef.apiGroup &&
    dataSource.kind === dataSourceRef.kind &&
    dataSource.name === dataSourceRef.name;
  if (!isSame) yield invalid(path, undefined, `${path}.dataSource: must match dataSourceRef`);
}
