# The headers of the nginx this module is for: target nginx_headers.
#
# Debian's nginx-dev carries the source headers, `configure` and the flags the distribution's binary was configured with (conf_flags), but not the
# generated ngx_auto_config.h. So its own configure runs once, at configure time, with everything it writes in the build folder. The same flags give the
# same module signature as the binary's; headers of another source tree would load and misread structures, so only this tree is offered.
set(nginx_objs ${CMAKE_BINARY_DIR}/nginx)
set(nginx_stamp ${nginx_objs}/configured)
foreach(needed configure conf_flags src/core/nginx.h)
  if(NOT EXISTS ${NGINX_SOURCE}/${needed})
    message(FATAL_ERROR "${NGINX_SOURCE}/${needed} is missing: install nginx-dev, or set NGINX_SOURCE to the source folder of Debian's nginx-dev")
  endif()
endforeach()

# Another nginx-dev, other flags or another compiler: configure again.
file(SHA256 ${NGINX_SOURCE}/conf_flags nginx_flags_hash)
file(SHA256 ${NGINX_SOURCE}/src/core/nginx.h nginx_version_hash)
set(nginx_identity "${NGINX_SOURCE} ${nginx_flags_hash} ${nginx_version_hash} ${CMAKE_C_COMPILER} ${CMAKE_C_COMPILER_VERSION}")
set(nginx_done "")
if(EXISTS ${nginx_stamp})
  file(READ ${nginx_stamp} nginx_done)
endif()
if(NOT nginx_done STREQUAL nginx_identity)
  message(STATUS "Configuring the nginx headers of ${NGINX_SOURCE}")
  file(REMOVE_RECURSE ${nginx_objs})
  file(MAKE_DIRECTORY ${nginx_objs})
  execute_process(
    COMMAND bash -c "set -e; source ./conf_flags; exec ./configure \"\${NGX_CONF_FLAGS[@]}\" --with-cc=\"$1\" --builddir=\"$2\"" configure
            ${CMAKE_C_COMPILER} ${nginx_objs}
    WORKING_DIRECTORY ${NGINX_SOURCE}
    OUTPUT_FILE ${nginx_objs}/configure.log
    ERROR_FILE ${nginx_objs}/configure.log
    RESULT_VARIABLE nginx_failed)
  if(nginx_failed OR NOT EXISTS ${nginx_objs}/ngx_auto_config.h)
    message(FATAL_ERROR "nginx's configure failed, see ${nginx_objs}/configure.log and ${nginx_objs}/autoconf.err")
  endif()
  file(WRITE ${nginx_stamp} "${nginx_identity}")
endif()

add_library(nginx_headers INTERFACE)
target_include_directories(nginx_headers SYSTEM INTERFACE ${nginx_objs})
foreach(folder core event event/modules os/unix http http/modules http/v2)
  target_include_directories(nginx_headers SYSTEM INTERFACE ${NGINX_SOURCE}/src/${folder})
endforeach()
