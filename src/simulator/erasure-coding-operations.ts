/** Erasure coding: the policies of the nameservice, and those of directories. */

import { messagesOf, textOf, textsOf } from '../control/rpc-server/fields.ts';
import { fileNotFound, ioException, JAVA, RemoteException } from '../control/rpc-server/remote-exception.ts';
import type { Plain } from '../wire/messages.ts';
import type { ErasureCodingPolicy } from './erasure-coding-policies.ts';
import { CODECS } from './erasure-coding-policies.ts';
import { Directory } from './inodes.ts';
import { existing } from './listing-operations.ts';
import type { Site } from './operation.ts';
import { Access, checkPermission, checkSuperuser } from './permission-check.ts';

export function getErasureCodingPolicies(site: Site): Plain {
  return {
    ecPolicies: site.namespace.erasureCoding.all().map((policy) => ({ ...policy.reference(), state: policy.state })),
  };
}

export function getErasureCodingCodecs(): Plain {
  return { codec: [...CODECS] };
}

/** A verdict for each policy: one that cannot be is no error. */
export function addErasureCodingPolicies(site: Site, request: Plain): Plain {
  checkSuperuser(site.caller, 'addErasureCodingPolicies');
  site.checkSafeMode('Cannot add erasure coding policy');
  const responses = messagesOf(request, 'ecPolicies').map((wanted): Plain => {
    try {
      const { policy, isNew } = site.namespace.erasureCoding.add(wanted);
      if (isNew) {
        site.namespace.logEdit();
      }
      return { policy: policy.reference(), succeed: true };
    } catch (error) {
      if (!(error instanceof RemoteException)) {
        throw error;
      }
      return { policy: wanted, succeed: false, errorMsg: error.message };
    }
  });
  return { responses };
}

export function removeErasureCodingPolicy(site: Site, request: Plain): Plain {
  const policy = policyToChange(site, request, 'removeErasureCodingPolicy', 'remove');
  if (policy.isBuiltIn) {
    throw new RemoteException(
      JAVA.HADOOP_ILLEGAL_ARGUMENT,
      `System erasure coding policy ${policy.name} cannot be removed`,
    );
  }
  policy.state = 'REMOVED';
  site.namespace.logEdit();
  return {};
}

export function enableErasureCodingPolicy(site: Site, request: Plain): Plain {
  const policy = policyToChange(site, request, 'enableErasureCodingPolicy', 'enable');
  if (policy.state !== 'ENABLED') {
    policy.state = 'ENABLED';
    site.namespace.logEdit();
  }
  return {};
}

export function disableErasureCodingPolicy(site: Site, request: Plain): Plain {
  const policy = policyToChange(site, request, 'disableErasureCodingPolicy', 'disable');
  if (policy.state === 'ENABLED') {
    policy.state = 'DISABLED';
    site.namespace.logEdit();
  }
  return {};
}

function policyToChange(site: Site, request: Plain, operation: string, what: string): ErasureCodingPolicy {
  const name = textOf(request, 'ecPolicyName');
  checkSuperuser(site.caller, operation);
  site.checkSafeMode(`Cannot ${what} erasure coding policy ${name}`);
  return site.namespace.erasureCoding.find(name);
}

export function setErasureCodingPolicy(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot set erasure coding policy on ${src}`);
  const policy = site.namespace.erasureCoding.findEnabled(textOf(request, 'ecPolicyName'));
  const directory = directoryToChange(site, src, 'Attempt to set an erasure coding policy for a file');
  directory.erasureCoding = policy ?? 'replication';
  site.namespace.logEdit();
  return {};
}

export function unsetErasureCodingPolicy(site: Site, request: Plain): Plain {
  const src = textOf(request, 'src');
  site.checkSafeMode(`Cannot unset erasure coding policy on ${src}`);
  const directory = directoryToChange(site, src, 'Cannot unset an erasure coding policy on a file');
  if (directory.erasureCoding === null) {
    throw new RemoteException(JAVA.NO_EC_POLICY, `No erasure coding policy explicitly set on ${src}`);
  }
  directory.erasureCoding = null;
  site.namespace.logEdit();
  return {};
}

/** `refusal` begins the text for a file. */
function directoryToChange(site: Site, src: string, refusal: string): Directory {
  const path = site.namespace.resolve(site.caller, src, 'write');
  checkPermission(site.caller, path, { target: Access.WRITE });
  if (path.target === null) {
    throw fileNotFound(`Path not found: ${path.text}`);
  }
  if (!(path.target instanceof Directory)) {
    throw ioException(`${refusal} ${path.text}`);
  }
  return path.target;
}

/** Nothing for what is kept in replicas. */
export function getErasureCodingPolicy(site: Site, request: Plain): Plain {
  const path = existing(site, textOf(request, 'src'), 'Path not found:');
  checkPermission(site.caller, path, { target: Access.READ });
  const { target } = path;
  const policy = target instanceof Directory ? target.effectiveErasureCoding() : target.erasureCodingPolicy;
  return policy === null ? {} : { ecPolicy: policy.reference() };
}

/** Whether there are enough DataNodes and racks for policies: those that are named, else the enabled ones. */
export function getECTopologyResult(site: Site, request: Plain): Plain {
  checkSuperuser(site.caller, 'getECTopologyResultForPolicies');
  const { erasureCoding } = site.namespace;
  const names = textsOf(request, 'policies');
  const policies = names.length === 0 ? erasureCoding.enabled() : names.map((name) => policyToVerify(site, name));
  if (policies.length === 0) {
    return { response: { isSupported: true, resultMessage: 'No erasure coding policy is given.' } };
  }
  const live = site.namenode.datanodes.filter((node) => node.figures.isLive);
  const racks = new Set(live.map((node) => node.rack)).size;
  const neededNodes = Math.max(...policies.map((one) => one.dataUnits + one.parityUnits));
  const neededRacks = Math.max(
    ...policies.map((one) => Math.ceil((one.dataUnits + one.parityUnits) / one.parityUnits)),
  );
  const listed = policies.map((one) => one.name).join(', ');
  if (live.length < neededNodes) {
    const resultMessage =
      `${neededNodes} DataNodes are required for the erasure coding policies: ${listed}. ` +
      `The number of DataNodes is only ${live.length}.`;
    return { response: { isSupported: false, resultMessage } };
  }
  if (racks < neededRacks) {
    const resultMessage =
      `${neededRacks} racks are required for the erasure coding policies: ${listed}. ` +
      `The number of racks is only ${racks}.`;
    return { response: { isSupported: false, resultMessage } };
  }
  return { response: { isSupported: true, resultMessage: `The cluster setup can support EC policies: ${listed}` } };
}

function policyToVerify(site: Site, name: string): ErasureCodingPolicy {
  const policy = site.namespace.erasureCoding.get(name);
  if (policy === undefined) {
    throw new RemoteException(JAVA.HADOOP_ILLEGAL_ARGUMENT, `The given erasure coding policy ${name} does not exist.`);
  }
  return policy;
}
