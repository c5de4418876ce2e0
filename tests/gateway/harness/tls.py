"""A certificate for localhost that lives as long as the test session."""

import ssl
import subprocess


def make_certificate(folder, name="localhost", addresses=("127.0.0.1",)):
    """Writes cert.pem and key.pem into `folder` and returns their paths."""
    names = ",".join([f"DNS:{name}", *(f"IP:{address}" for address in addresses)])
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}",
                    "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True, timeout=60)
    return certificate, key


def client_context(certificate, protocols=("http/1.1",)):
    """Trusts that certificate and nothing else."""
    context = ssl.create_default_context(cafile=str(certificate))
    context.set_alpn_protocols(list(protocols))
    return context


def server_context(certificate, key):
    """For a server of the test's own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
