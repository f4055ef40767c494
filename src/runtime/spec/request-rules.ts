import { badField } from '../../cri/bad-field.ts';
import { checkMounts } from './mount-rules.ts';
import { checkContainerNamespaces } from './namespace-rules.ts';
import type { SpecRequest } from './spec-request.ts';

/** Refuses what can be seen from the request alone; nothing has to be looked up or made for it. */
export function checkRequest(request: SpecRequest): void {
  const { container, sandbox, image } = request;
  if (container.windows !== undefined) throw badField('windows', 'this is a Linux node');
  const privileged = container.linux?.securityContext?.privileged === true;
  if (privileged && !sandbox.linux?.securityContext?.privileged) {
    throw badField('linux.security_context.privileged', 'no privileged container allowed in sandbox');
  }
  if (image.workingDir !== '' && container.workingDir === '' && !image.workingDir.startsWith('/')) {
    throw badField('image', `working directory ${image.workingDir} is not absolute`);
  }
  if (container.workingDir !== '' && !container.workingDir.startsWith('/')) {
    throw badField('working_dir', `${JSON.stringify(container.workingDir)} is not absolute`);
  }
  checkMounts(request);
  checkContainerNamespaces(container.linux?.securityContext?.namespaceOptions, sandbox);
}
